import type { Preset } from '@lcm/client/sim-client'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { countArgument, portArgument, presetOption, runHosted, speedArgument } from '../host/run-hosted.ts'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'

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
    .option('--port <n>', 'the port to listen on, on loopback (default: 9090)', portArgument)
    .option('--seed <n>', 'decides everything that is left to chance', seedArgument, 1)
    .option('--speed <x>', 'how many times faster than life it is', speedArgument, 1)
    .addOption(presetOption('--preset <preset>'))
    .addOption(new Option('--cml <on|off>', 'whether machines serve CML').choices(['on', 'off']).default('on'))
    .option('--fleet <n>', 'machines that a new world has from the start', countArgument, 0)
    .action(async (flags: SimFlags, command: Command) => runSim(flags, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
With --data DIR the world is kept in DIR/sim.sqlite and goes on while nothing runs; else it is forgotten.

Examples:
  lcm sim --fleet 20 --speed 60            a believable fleet, sixty times faster than life
  lcm sim --preset hostile --data /tmp/sim a world that lies, and stays
  lcm sim --cml off --fleet 1000           EC2 and CloudWatch alone`

const SEED_MAX = 2 ** 32 - 1

function seedArgument(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= SEED_MAX) return number
  throw new InvalidArgumentError(`Give a whole number from 0 to ${SEED_MAX}.`)
}

function runSim({ port, preset, ...flags }: SimFlags, invoked: Invocation): Promise<void> {
  const dataDir = invoked.globals.data ?? null
  const options = { ...flags, port: port ?? null, preset: preset ?? null, dataDir }
  return runHosted(invoked, (host, io) => host.serveSim(options, io))
}
