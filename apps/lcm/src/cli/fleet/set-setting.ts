import { CapacityChange } from '@lcm/contract/calendar/capacity-preview'
import type { BodyInput } from '@lcm/contract/routes'
import { type SettingName, SettingValues, wordOfSetting } from '@lcm/domain/fleet/settings'
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { addCapacityYes, confirmCapacityChange } from './confirm-capacity-change.ts'

interface SetOptions {
  readonly default?: boolean
  readonly yes?: boolean
}

export function defineSetSetting(set: Command, shell: Shell): void {
  const command = set
    .command('setting <name> [value]')
    .description('Set a setting of the fleet')
    .addOption(new Option('--default', 'Reset it to the environment or the default'))
  addCapacityYes(command).action(
    async (name: string, value: string | undefined, options: SetOptions, command: Command) =>
      setSetting(name, value, options, invocation(command, shell)),
  )
}

async function setSetting(
  name: string,
  text: string | undefined,
  options: SetOptions,
  invoked: Invocation,
): Promise<void> {
  const { shell, output, connect } = invoked
  if (!isSettingName(name))
    throw new CliError(EXIT.notFound, `there is no setting ${name}`, 'list them with `lcm get settings`')
  if ((text === undefined) !== (options.default === true))
    throw new CliError(EXIT.usage, 'give a value or --default', 'see `lcm get settings` for the current values')
  const { client } = await connect()
  const limits = CapacityChange.shape.settings.safeParse({
    [name]: text === undefined ? null : settingValue(name, text),
  })
  if (limits.success)
    await confirmCapacityChange(client, { name, change: { settings: limits.data }, yes: options.yes }, invoked)
  const body = { [name]: text === undefined ? null : settingValue(name, text) } as BodyInput<'patchSettings'>
  const { settings } = await client.call('patchSettings', { body, signal: shell.signal })
  const { value, source } = settings[name]
  if (!output.quiet) output.out(`${name} is ${value}${source === 'given' ? '' : ` (${source})`}`)
}

const isSettingName = (name: string): name is SettingName => Object.hasOwn(SettingValues.shape, name)

/** The value as the API takes it, which refuses what is not allowed. */
function settingValue(name: SettingName, text: string): boolean | number | string {
  const { type } = SettingValues.shape[name]
  if (type === 'boolean') return ON.get(text.toLowerCase()) ?? text
  const isNumber = type === 'number' || (type === 'union' && text !== wordOfSetting(name))
  return isNumber && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}

const ON: ReadonlyMap<string, boolean> = new Map([
  ['on', true],
  ['true', true],
  ['off', false],
  ['false', false],
])
