import { type Client, unlessMissing } from '@lcm/client/client'
import type { QuotaView } from '@lcm/contract/quota'
import type { BodyInput } from '@lcm/contract/routes'
import { QUOTA_LIMIT_NAMES } from '@lcm/domain/quota/quota'
import { type Command, InvalidArgumentError } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { PEOPLE } from '../person/person-kind.ts'
import { printOne } from '../resource-view.ts'
import { parseDuration } from '../terminal/duration.ts'
import { printable } from '../terminal/table.ts'
import { horizonText, QUOTA_VIEW } from './quota-kind.ts'

type Limit = number | 'unlimited'

interface QuotaOptions {
  readonly live?: Limit
  readonly future?: Limit
  readonly horizon?: Limit
  readonly coreHours?: Limit
  readonly default?: boolean
  readonly output?: Format
}

const DAY_MS = 86_400_000
const SESSIONS_MAX = 10_000
const CORE_HOURS_MAX = 10_000_000
const HORIZON_DAYS_MAX = 3650

export function defineSetQuota(set: Command, shell: Shell): void {
  set
    .command('quota <person>')
    .description('Set how much a person may book, instead of the limits of the role')
    .option('--live <count>', 'Sessions at a time, or unlimited', limit(wholeNumber(0, SESSIONS_MAX)))
    .option('--future <count>', 'Sessions that have not started, or unlimited', limit(wholeNumber(0, SESSIONS_MAX)))
    .option('--horizon <duration>', 'How far ahead a session may start, such as 90d, or unlimited', limit(daysOf))
    .option('--core-hours <count>', 'Core-hours a week, or unlimited', limit(wholeNumber(0, CORE_HOURS_MAX)))
    .option('--default', 'Reset all other limits to those of the role')
    .addOption(formatOption())
    .action(async (owner: string, options: QuotaOptions, command: Command) =>
      setQuota(owner, options, invocation(command, shell)),
    )
}

const limit =
  (parse: (text: string) => number) =>
  (text: string): Limit =>
    text === 'unlimited' ? text : parse(text)

function daysOf(text: string): number {
  const days = (parseDuration(text, HORIZON_DAYS_MAX * DAY_MS) ?? Number.NaN) / DAY_MS
  if (Number.isInteger(days)) return days
  throw new InvalidArgumentError(`Give whole days such as 90d, up to ${HORIZON_DAYS_MAX}d.`)
}

async function setQuota(idOrName: string, options: QuotaOptions, invoked: Invocation): Promise<void> {
  const { shell, output, connect } = invoked
  const body = patchOf(options)
  if (Object.keys(body).length === 0)
    throw new CliError(EXIT.usage, 'no limit given', 'use --live, --future, --horizon, --core-hours or --default')
  const { client } = await connect()
  const { signal } = shell
  const owner = await ownerOf(client, idOrName, signal)
  const quota = await client.call('patchQuota', { params: { owner }, body, signal })
  const { output: format } = options
  if (format !== undefined) return printOne(QUOTA_VIEW, quota, { output, format, nowMs: shell.clock.now() })
  if (!output.quiet) output.out(limitsText(quota))
}

function patchOf({ live, future, horizon, coreHours, default: isReset }: QuotaOptions): BodyInput<'patchQuota'> {
  const given = { live_sessions: live, future_sessions: future, horizon_days: horizon, core_hours_per_week: coreHours }
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const reset = isReset ? Object.fromEntries(QUOTA_LIMIT_NAMES.map(name => [name, null])) : {}
  return { ...reset, ...set }
}

/** Limits may be set before the first sign-in, by the id that the person will have. Such ids have a colon. */
async function ownerOf(client: Client, idOrName: string, signal: AbortSignal): Promise<string> {
  if (idOrName.includes(':')) return idOrName
  const known = await unlessMissing(client.call('getQuota', { params: { owner: idOrName }, signal }))
  return known?.id ?? (await PEOPLE.find(client, idOrName, signal)).id
}

function limitsText({ id, name, limits }: QuotaView): string {
  const { live_sessions, future_sessions, horizon_days, core_hours_per_week } = limits
  const person = printable(name === '' ? id : `${name} (${id})`)
  const ahead = horizon_days === 'unlimited' ? 'any time' : horizonText(horizon_days)
  const sessions = `${live_sessions} live and ${future_sessions} future sessions`
  return `${person} may have ${sessions}, book ${ahead} ahead and use ${core_hours_per_week} core-hours a week`
}
