import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const LCM = fileURLToPath(new URL('../../../../dist/lcm.mjs', import.meta.url))
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

/** Runs `lcm serve` as it was built; resolves when it listens. */
export const startProcess = (
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<ServiceProcess> => startLcm(name, ['serve', ...args], { env, isAt: / listens on (http:\S+)/ })

/** The same for an API that can not find its store; resolves when it waits for it. */
export const startWaitingProcess = (
  name: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<ServiceProcess> => startLcm(name, ['serve', ...args], { env, isAt: / waits for the store at (http:\S+)/ })

/** Runs `lcm up` on a simulated cloud, on free ports. */
export const startEmbedded = (folder: string): Promise<ServiceProcess> =>
  startLcm('up', ['up', '--port', '0', '--data', folder], { env: {}, isAt: /Console +(http:\S+)[\s\S]*Ctrl-C/ })

/** Runs `lcm sim`, so many times faster than life. Its seed is by chance: two of one seed would have the same addresses. */
export const startSimulator = (speed: number): Promise<ServiceProcess> => {
  const args = ['sim', '--port', '0', '--speed', String(speed), '--seed', String(randomInt(2 ** 32))]
  return startLcm('sim', args, { env: {}, isAt: /AWS_ENDPOINT_URL=(http:\S+)/ })
}

async function startLcm(
  name: string,
  args: readonly string[],
  { env, isAt }: { env: Record<string, string>; isAt: RegExp },
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [LCM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
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
