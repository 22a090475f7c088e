import type { Preset } from '@lcm/client/sim-client'
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { dataDirOf } from '../connection.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { runInProcess } from './run-in-process.ts'
import { countArgument, portArgument, presetOption, speedArgument } from './server-options.ts'

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
  up.addOption(new Option('--cloud <cloud>', 'Cloud to use (default: LCM_CLOUD, then sim)').choices(['sim', 'aws']))
    .option('--port <n>', 'Port of the console and API (default: 8080)', portArgument)
    .option('--sim-port <n>', 'Port of the simulated cloud (default: any free port)', portArgument)
    .option('--speed <x>', 'Speed of the simulated cloud, 60 is one hour per minute (default: 60)', speedArgument)
    .addOption(presetOption('--sim-preset <preset>'))
    .option('--sim-fleet <n>', 'Number of machines in a new simulated cloud (default: 0)', countArgument)
    .action(async (flags: UpFlags, command: Command) => runUp(flags, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm up                                   use a simulated cloud and the data folder .lcm
  lcm up --port 9000 --data /tmp/fleet     run a second LCM beside it
  lcm up --sim-preset hostile              simulate a cloud with many faults
  lcm up --cloud aws                       use AWS with your credentials

Ctrl-C stops LCM gracefully; the next start continues with the same state. Press Ctrl-C twice to stop immediately.`

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
  return runInProcess(invoked, (host, io) => host.up(options, io))
}

function cloudIn(text: string | undefined): Cloud {
  if (!text) return 'sim'
  if (text === 'sim' || text === 'aws') return text
  throw new CliError(EXIT.usage, `invalid LCM_CLOUD "${text}"`, 'set it to sim or aws, or use --cloud')
}
