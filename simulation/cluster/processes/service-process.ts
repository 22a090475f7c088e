import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const LCM = fileURLToPath(new URL('../../../dist/lcm.mjs', import.meta.url))
/** What a service reads about the regions. */
export const REGIONS = `aws_region_configs:\n  us-east-1: { subnets: [subnet-use1a, subnet-use1b] }\n`

export interface ServiceProcess {
  readonly name: string
  readonly url: string
  readonly pid: number
  signal(signal: NodeJS.Signals): void
  /** Resolves with its exit code, null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** What it logged so far. */
  log(): string
}

/** Runs `lcm serve` as it was built, by the command `within` where one is given; resolves when it listens. */
export const startProcess = (
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  within: readonly string[] = [],
): Promise<ServiceProcess> => startLcm(name, ['serve', ...args], { env, isAt: / listens on (http:\S+)/, within })

/** The same for an API that can not find its store; resolves when it waits for it. */
export const startWaitingProcess = (
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<ServiceProcess> =>
  startLcm(name, ['serve', ...args], { env, isAt: / at (http:\S+) is waiting for the store/ })

/** Runs `lcm up` on a simulated cloud, on free ports. */
export const startEmbedded = (folder: string): Promise<ServiceProcess> =>
  startLcm('up', ['up', '--port', '0', '--data', folder], { env: {}, isAt: /Console +(http:\S+)[\s\S]*Ctrl-C/ })

export interface SimulatorPlace {
  readonly folder?: string
  readonly port?: string
  readonly seed?: number
}

/**
 * Runs `lcm sim`, so many times faster than life; with a folder it keeps its world there. Its seed is by chance: two of one
 * seed would have the same addresses.
 */
export const startSimulator = (
  speed: number,
  { folder, port = '0', seed = randomInt(2 ** 32) }: SimulatorPlace = {},
): Promise<ServiceProcess> => {
  const args = ['sim', '--port', port, '--speed', String(speed), '--seed', String(seed)]
  const data = folder === undefined ? [] : ['--data', folder]
  return startLcm('sim', [...args, ...data], { env: {}, isAt: /AWS_ENDPOINT_URL=(http:\S+)/ })
}

/** A test that ends early leaves no process behind that would answer on a reused port. */
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
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (text: Buffer) => {
      said += text.toString()
      const listening = isAt.exec(said)?.[1]
      if (listening !== undefined) resolve(listening)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.on('exit', code => reject(new Error(`${name} ended with ${code}: ${said}`)))
  })
  return {
    name,
    url,
    pid: child.pid ?? 0,
    signal: signal => void child.kill(signal),
    exited: exitOf(child),
    log: () => said,
  }
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const [code] = await once(child, 'exit')
  return code
}
