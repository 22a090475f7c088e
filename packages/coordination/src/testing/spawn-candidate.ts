import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { eventually } from './eventually.ts'

export interface Deed {
  readonly event: 'begun' | 'watching' | 'leading' | 'acted' | 'lost' | 'ended'
  readonly epoch?: number
  readonly atMs: number
}

export interface ContenderProcess {
  readonly deeds: readonly Deed[]
  readonly pid: number
  signal(name: NodeJS.Signals): void
  /** Newest report of that kind; waits for the first one. */
  newest(event: Deed['event']): Promise<Deed>
  /** Ends the process in any state. */
  end(): Promise<void>
}

export interface ContenderProcessOptions {
  readonly endpoint: string
  readonly instanceId: string
  readonly leaseTtlMs: number
}

const SCRIPT = fileURLToPath(new URL('candidate-process.ts', import.meta.url))

export async function spawnContender({
  endpoint,
  instanceId,
  leaseTtlMs,
}: ContenderProcessOptions): Promise<ContenderProcess> {
  const args = ['--import', 'tsx', SCRIPT, endpoint, instanceId, String(leaseTtlMs)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const { pid } = child
  if (pid === undefined) throw new Error(`${instanceId} could not be started`)
  const deeds: Deed[] = []
  createInterface({ input: child.stdout }).on('line', line => deeds.push(JSON.parse(line)))
  const isOver = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const newest = async (event: Deed['event']) =>
    (await eventually(`${event} of ${instanceId}`, () => deeds.findLast(deed => deed.event === event), 20_000)).found
  const contender: ContenderProcess = {
    deeds,
    pid,
    signal: name => child.kill(name),
    newest,
    async end() {
      child.kill('SIGKILL')
      await isOver
    },
  }
  return contender
}
