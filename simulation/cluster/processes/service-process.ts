import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const LCM = fileURLToPath(new URL('../../../dist/lcm.mjs', import.meta.url))
/** Regions file of the services. */
export const REGIONS = `aws_region_configs:\n  us-east-1: { subnets: [subnet-use1a, subnet-use1b] }\n`

export interface ServiceProcess {
  readonly name: string
  readonly url: string
  readonly pid: number
  signal(signal: NodeJS.Signals): void
  /** Exit code; null when a signal ended the process. */
  readonly exited: Promise<number | null>
  /** Output so far. */
  log(): string
}

/** Runs the built `lcm serve`, with the command prefix `within` if one is given; resolves when it listens. */
export const startProcess = (
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  within: readonly string[] = [],
): Promise<ServiceProcess> => startLcm(name, ['serve', ...args], { env, isAt: / listens on (https?:\S+)/, within })

/** Runs an API without a reachable store; resolves when it waits for the store. */
export const startWaitingProcess = (
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<ServiceProcess> =>
  startLcm(name, ['serve', ...args], { env, isAt: / at (http:\S+) is waiting for the store/ })

/** Runs `lcm up` on a simulated cloud, on free ports. */
export const startEmbedded = (folder: string): Promise<ServiceProcess> =>
  startLcm('up', ['up', '--port', '0', '--data', folder], { env: {}, isAt: /Console +(http:\S+)[\s\S]*Ctrl-C/ })

export interface SimulatorOptions {
  readonly folder?: string
  readonly port?: string
  readonly seed?: number
}

/** Runs `lcm sim`, which keeps its state in the folder if one is given. The seed is random: equal seeds use equal addresses. */
export const startSimulator = (
  speed: number,
  { folder, port = '0', seed = randomInt(2 ** 32) }: SimulatorOptions = {},
): Promise<ServiceProcess> => {
  const args = ['sim', '--port', port, '--speed', String(speed), '--seed', String(seed)]
  const data = folder === undefined ? [] : ['--data', folder]
  return startLcm('sim', [...args, ...data], { env: {}, isAt: /AWS_ENDPOINT_URL=(http:\S+)/ })
}

/** Killed at exit: a process of an aborted test would respond on a reused port. */
const living = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

async function startLcm(
  name: string,
  args: readonly string[],
  { env, isAt, within = [] }: { env: Record<string, string>; isAt: RegExp; within?: readonly string[] },
): Promise<ServiceProcess> {
  const [command = process.execPath, ...rest] = [...within, process.execPath, LCM, ...args]
  const child = spawn(command, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  living.add(child)
  child.once('exit', () => living.delete(child))
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const append = (text: Buffer) => {
      output += text.toString()
      const listening = isAt.exec(output)?.[1]
      if (listening !== undefined) resolve(listening)
    }
    child.stdout.on('data', append)
    child.stderr.on('data', append)
    child.on('exit', code => reject(new Error(`${name} ended with ${code}: ${output}`)))
  })
  return {
    name,
    url,
    pid: child.pid ?? 0,
    signal: signal => void child.kill(signal),
    exited: exitOf(child),
    log: () => output,
  }
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const [code] = await once(child, 'exit')
  return code
}
