import type { Preset } from '@lcm/client/sim-client'
import { type Command, Option } from 'commander'
import { dataDirOf } from '../connection.ts'
import { CliError, EXIT } from '../exit-code.ts'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { countArgument, portArgument, presetOption, runHosted, speedArgument } from './run-hosted.ts'

type Cloud = 'sim' | 'aws'

interface UpFlags {
  readonly cloud?: Cloud
  readonly port?: number
  readonly simPort?: number
  readonly speed?: number
  readonly simPreset?: Preset
  readonly simFleet?: number
}

export function defineUp(up: Command, shell: Shell): void {
  up.addOption(
    new Option('--cloud <cloud>', 'where machines come from (else LCM_CLOUD, else sim)').choices(['sim', 'aws']),
  )
    .option('--port <n>', 'the port of console and API (default: 8080)', portArgument)
    .option('--sim-port <n>', 'the port of the simulated cloud (default: a free one)', portArgument)
    .option('--speed <x>', 'how many times faster than life the simulated cloud is (default: 60)', speedArgument)
    .addOption(presetOption('--sim-preset <preset>'))
    .option('--sim-fleet <n>', 'machines that a new simulated cloud has from the start (default: 0)', countArgument)
    .action(async (flags: UpFlags, command: Command) => runUp(flags, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm up                                   a simulated cloud, state in .lcm
  lcm up --port 9000 --data /tmp/fleet     a second one beside it
  lcm up --sim-preset hostile              a cloud that lies and loses answers
  lcm up --cloud aws                       real machines, with your AWS credentials

Ctrl-C stops it cleanly, and the next start goes on with the same state. Press it twice to end at once.`

function runUp(flags: UpFlags, invoked: Invocation): Promise<void> {
  const { shell, globals } = invoked
  const options = {
    cloud: flags.cloud ?? cloudIn(shell.env.LCM_CLOUD),
    dataDir: dataDirOf(globals, shell.env),
    port: flags.port ?? null,
    simPort: flags.simPort ?? null,
    speed: flags.speed ?? null,
    simPreset: flags.simPreset ?? null,
    simFleet: flags.simFleet ?? 0,
    env: shell.env,
  }
  return runHosted(invoked, (host, io) => host.up(options, io))
}

function cloudIn(text: string | undefined): Cloud {
  if (!text) return 'sim'
  if (text === 'sim' || text === 'aws') return text
  throw new CliError(EXIT.usage, `LCM_CLOUD is "${text}": set it to sim or aws, or use --cloud`)
}
