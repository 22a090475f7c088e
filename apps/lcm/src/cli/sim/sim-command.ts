import type { Preset } from '@lcm/client/sim-client'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { runInProcess } from '../host/run-in-process.ts'
import { countArgument, portArgument, presetOption, speedArgument } from '../host/server-options.ts'
import { type Invocation, invocation } from '../invocation.ts'

interface SimFlags {
  readonly port?: number
  readonly seed: number
  readonly speed: number
  readonly preset?: Preset
  readonly cml: 'on' | 'off'
  readonly fleet: number
}

export function defineSim(sim: Command, shell: Shell): void {
  sim
    .option('--port <n>', 'Loopback port to listen on (default: 9090)', portArgument)
    .option('--seed <n>', 'Seed of all random choices', seedArgument, 1)
    .option('--speed <x>', 'Speed of the simulated clock, 60 is one hour per minute', speedArgument, 1)
    .addOption(presetOption('--preset <preset>'))
    .addOption(
      new Option('--cml <on|off>', 'Whether machines run a simulated CML').choices(['on', 'off']).default('on'),
    )
    .option('--fleet <n>', 'Number of machines in a new simulated cloud', countArgument, 0)
    .action(async (flags: SimFlags, command: Command) => runSim(flags, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
With --data DIR, the state is stored in DIR/sim.sqlite, and simulated time continues between runs. Otherwise it is lost on exit.

Examples:
  lcm sim --fleet 20 --speed 60            20 machines at 60 times normal speed
  lcm sim --preset hostile --data /tmp/sim a cloud with many faults, stored on disk
  lcm sim --cml off --fleet 1000           only EC2 and CloudWatch`

const SEED_MAX = 2 ** 32 - 1

function seedArgument(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= SEED_MAX) return number
  throw new InvalidArgumentError(`Give a whole number from 0 to ${SEED_MAX}.`)
}

function runSim({ port, preset, ...flags }: SimFlags, invoked: Invocation): Promise<void> {
  const dataDir = invoked.globals.data ?? null
  const options = { ...flags, port: port ?? null, preset: preset ?? null, dataDir }
  return runInProcess(invoked, (host, io) => host.serveSim(options, io))
}
