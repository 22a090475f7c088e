import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import { type FaultState, MACHINE_ACTS, type MachineAct, type Preset, simClient } from '@lcm/client/sim-client'
import { pairsOf } from '@lcm/client/sim-worker-pairs'
import { Argument, type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { findWorker } from '../find-resource.ts'
import { presetOption } from '../host/server-options.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { chaosLines, faultLines } from './chaos-view.ts'
import { asInPreset, CML_FAULTS, faultsIn, NEXT_FAULTS } from './fault-arguments.ts'

export function defineChaos(chaos: Command, shell: Shell): void {
  chaos
    .command('list')
    .description('List the simulated machines, their status in LCM, and the active faults')
    .addOption(formatOption().default('table'))
    .action(async ({ output }: { output: Format }, command: Command) => list(output, invocation(command, shell)))
  for (const act of MACHINE_ACTS)
    chaos
      .command(`${act} <id>`)
      .description(
        `${act.charAt(0).toUpperCase()}${act.slice(1)} a simulated machine outside LCM, by worker or instance id`,
      )
      .action(async (id: string, _: unknown, command: Command) => actOn(id, act, invocation(command, shell)))
  chaos
    .command('cml <id>')
    .description('Break or heal the CML of a worker')
    .addArgument(new Argument('<fault>', 'Fault to inject').choices([...Object.keys(CML_FAULTS), 'forget', 'heal']))
    .action(async (id: string, way: string, _: unknown, command: Command) =>
      breakCml(id, way, invocation(command, shell)),
    )
  addFault(chaos, shell)
  chaos.addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Requires a simulated cloud and the role admin. docs/reference/simulator.md lists all faults.

Examples:
  lcm chaos list                                     compare the machines with their status in LCM
  lcm chaos stop metal-1 && lcm why worker metal-1   then watch LCM repair it
  lcm chaos terminate i-0123456789abcdef0
  lcm chaos fault lost_answer_rate=0.3               reset it with --clear lost_answer_rate
  lcm chaos fault --preset hostile                   reset all faults to the preset with --clear
  lcm chaos fault --next RunInstances --meets lost-answer --times 2
  lcm chaos cml metal-1 cut                          cut its network; labs keep running, undo with \`heal\``

interface FaultOptions {
  readonly preset?: Preset
  readonly clear?: boolean
  readonly next?: string
  readonly meets?: string
  readonly times: number
  readonly output: Format
}

function addFault(chaos: Command, shell: Shell): void {
  chaos
    .command('fault [faults...]')
    .description('Set faults such as lost_answer_rate=0.3, or reset them')
    .addOption(presetOption('--preset <preset>'))
    .option('--clear', 'Reset the named faults, or all faults, to the preset')
    .option('--next <action>', 'Make the next calls of this AWS action fail, such as RunInstances')
    .addOption(new Option('--meets <fault>', 'Fault for the calls of --next').choices(Object.keys(NEXT_FAULTS)))
    .option('--times <count>', 'Number of calls that fail', wholeNumber(1, 1000), 1)
    .addOption(formatOption().default('table'))
    .action(async (words: string[], options: FaultOptions, command: Command) => {
      const reached = await reach(invocation(command, shell))
      const { output } = reached
      const state = await changed(reached, words, options)
      const document = { data: state, names: () => [state.preset], lines: () => faultLines(state) }
      if (options.output !== 'table' || !output.quiet) await printDocument(document, options.output, output)
    })
}

async function changed({ sim, signal }: Reached, words: readonly string[], options: FaultOptions): Promise<FaultState> {
  const { preset, clear = false, next, meets, times } = options
  if ((next === undefined) !== (meets === undefined))
    throw new CliError(
      EXIT.usage,
      '--next and --meets must be used together, such as --next RunInstances --meets throttled',
    )
  if (clear && (preset !== undefined || next !== undefined))
    throw new CliError(EXIT.usage, "--clear can't be combined with --preset or --next", 'use a separate command')
  if (clear && words.length === 0) return sim.reset()
  if (clear) return sim.patch(asInPreset(words, (await sim.presets(signal))[(await sim.faults(signal)).preset]))
  const faults = { ...(preset === undefined ? {} : { preset }), ...faultsIn(words) }
  const isNothing = Object.keys(faults).length === 0 && next === undefined
  if (isNothing) throw new CliError(EXIT.usage, 'no fault given', 'use NAME=VALUE, --preset, --next or --clear')
  const state = Object.keys(faults).length === 0 ? null : await sim.patch(faults)
  const fault = NEXT_FAULTS[meets ?? '']
  return next === undefined || fault === undefined ? (state ?? sim.faults(signal)) : sim.script(next, times, fault)
}

interface Reached {
  readonly output: Invocation['output']
  readonly client: Client
  readonly sim: ReturnType<typeof simClient>
  readonly signal: AbortSignal
}

/** Connects to the simulated cloud of this LCM; refuses if there is none. */
async function reach({ shell, output, connect }: Invocation): Promise<Reached> {
  const { signal } = shell
  const { client, dispatch } = await connect()
  const { cloud, sim_control } = await client.call('info', { signal })
  if (sim_control === null)
    throw cloud === 'sim'
      ? new CliError(EXIT.usage, 'the simulated cloud runs in another process', 'use /sim/v1 of that `lcm sim`')
      : new CliError(
          EXIT.usage,
          'chaos needs a simulated cloud, and this LCM runs on AWS',
          'try it with `lcm up --cloud sim`',
        )
  return { output, client, sim: simClient(sim_control, dispatch), signal }
}

async function list(format: Format, invoked: Invocation): Promise<void> {
  const { output, client, sim, signal } = await reach(invoked)
  const query = { include_terminated: true }
  const [machines, faults, workers] = await Promise.all([
    sim.machines(signal),
    sim.faults(signal),
    readList(page => client.call('listWorkers', { query: { ...page, ...query }, signal })),
  ])
  const pairs = pairsOf(machines, workers.items)
  const items = pairs.map(({ machine, worker }) => ({ ...machine, worker_id: worker?.id ?? null }))
  await printDocument(
    {
      data: { items, faults },
      names: () => items.map(({ instance_id }) => instance_id),
      lines: colors => chaosLines(pairs, faults, colors),
    },
    format,
    output,
  )
}

const PAST: Readonly<Record<MachineAct, string>> = {
  start: 'started',
  stop: 'stopped',
  reboot: 'rebooted',
  terminate: 'terminated',
}

async function actOn(idOrName: string, act: MachineAct, invoked: Invocation): Promise<void> {
  const { output, client, sim, signal } = await reach(invoked)
  const { instanceId, name } = await findMachine(client, idOrName, signal)
  await sim.act(instanceId, act)
  if (output.quiet) return
  output.out(`${name ?? instanceId} (${instanceId}) was ${PAST[act]} outside LCM`)
  if (name !== null) output.note(`See how LCM reacts: lcm why worker ${shellWord(name)}`)
}

const OUTCOMES: Readonly<Record<string, string>> = {
  fail: 'answers 500 to every call',
  cut: 'is unreachable',
  expire: 'expires tokens within seconds',
  forget: 'has ended all login sessions',
  heal: 'is healed',
}

async function breakCml(idOrName: string, way: string, invoked: Invocation): Promise<void> {
  const { output, client, sim, signal } = await reach(invoked)
  const { instanceId, name } = await findMachine(client, idOrName, signal)
  const faults = CML_FAULTS[way]
  if (faults !== undefined) await sim.breakCml(instanceId, faults)
  else await (way === 'heal' ? sim.healCml(instanceId) : sim.forgetSessions(instanceId))
  if (!output.quiet) output.out(`the CML of ${name ?? instanceId} ${OUTCOMES[way]}`)
}

const INSTANCE_ID = /^i-[0-9a-f]+$/

/** The machine with this id, or the one of the worker with this id or name. */
async function findMachine(client: Client, idOrName: string, signal: AbortSignal) {
  if (INSTANCE_ID.test(idOrName)) return { instanceId: idOrName, name: null }
  const { name, status, ec2_instance_id: instanceId } = await findWorker(client, idOrName, signal)
  if (instanceId !== null) return { instanceId, name }
  throw new CliError(
    EXIT.conflict,
    `no machine of ${name} is known: it is ${status}, or your role can't see its machine`,
    `list machines with \`lcm chaos list\``,
  )
}
