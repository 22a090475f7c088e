import { toMs } from '@lcm/domain/instant'
import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import type { CmlFaults, FaultState, JournalEntry, MachineAct, ScriptedFault, SimMachine } from './sim-client.ts'

/** A machine beside the worker that LCM takes it for. */
export interface Pair {
  readonly machine: SimMachine
  readonly worker: Worker | null
}

/** Those that are gone for good and that nobody waits for are left out. */
export function pairsOf(machines: readonly SimMachine[], workers: Iterable<Worker>): Pair[] {
  const byInstance = new Map([...workers].map(worker => [worker.ec2_instance_id, worker]))
  return machines
    .map(machine => ({ machine, worker: byInstance.get(machine.instance_id) ?? null }))
    .filter(
      ({ machine, worker }) => machine.state !== 'terminated' || (worker !== null && worker.status !== 'TERMINATED'),
    )
    .toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
}

export const nameOf = ({ worker, machine }: Pair): string => worker?.name ?? machine.tags.Name ?? machine.instance_id

/** What EC2 may say of a machine while LCM says this of its worker. */
const FITTING: Readonly<Record<WorkerStatus, readonly SimMachine['state'][]>> = {
  PENDING: ['pending', 'running'],
  PROVISIONING: ['pending', 'running'],
  STARTING: ['pending', 'running', 'stopped'],
  RUNNING: ['running'],
  DRAINING: ['running'],
  STOPPING: ['running', 'stopping', 'stopped'],
  STOPPED: ['stopped'],
  TERMINATING: ['running', 'stopped', 'stopping', 'shutting-down', 'terminated'],
  TERMINATED: ['terminated'],
  FAILED: ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'],
  UNKNOWN: ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'],
}

/** Whether what LCM records is what is; null where it has no record of the machine. */
export const agrees = ({ machine, worker }: Pair): boolean | null =>
  worker === null ? null : FITTING[worker.status].includes(machine.state)

/** The look of a worker that would be in that state. */
export const LIKE: Readonly<Record<SimMachine['state'], WorkerStatus>> = {
  pending: 'STARTING',
  running: 'RUNNING',
  stopping: 'STOPPING',
  stopped: 'STOPPED',
  'shutting-down': 'TERMINATING',
  terminated: 'TERMINATED',
}

/** What EC2 would let anybody do to it now. */
export function actsOn({ state }: SimMachine): MachineAct[] {
  if (state === 'running') return ['stop', 'reboot', 'terminate']
  if (state === 'stopped') return ['start', 'terminate']
  return state === 'pending' || state === 'stopping' ? ['terminate'] : []
}

/** What is wrong with its CML by request, in words. */
export function cmlTroubles({ fail_one_in = 0, network, session_lifetime_factor = 1 }: CmlFaults): string[] {
  return [
    ...(network === 'cut' ? ['network cut'] : []),
    ...(fail_one_in === 1 ? ['answers 500'] : fail_one_in > 1 ? [`every ${fail_one_in}th answer is 500`] : []),
    ...(session_lifetime_factor < 1 ? ['tokens expire early'] : []),
  ]
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`

const RATES: readonly (readonly [string, string])[] = [
  ['server_error_rate', 'of calls answer 500 or 503'],
  ['lost_request_rate', 'of calls get lost before their effect'],
  ['lost_answer_rate', 'of answers get lost after the effect'],
  ['stale_read_rate', 'of reads show the past'],
  ['capacity_error_rate', 'of zones have no room'],
  ['pending_death_rate', 'of launches die in pending'],
  ['empty_answer_rate', 'of answers are empty'],
  ['truncated_answer_rate', 'of answers break off'],
]

/** How the cloud lies now, in sentences: only what it does at all. */
export const weatherOf = ({ plan }: FaultState): string[] =>
  RATES.flatMap(([name, words]) => {
    const rate = plan[name]
    return typeof rate === 'number' && rate > 0 ? [`${percent(rate)} ${words}`] : []
  })

export function scriptText({ action, times, fault }: ScriptedFault): string {
  const what = typeof fault === 'string' ? (FAULT_WORDS.get(fault) ?? fault) : `answer ${fault.status} ${fault.code}`
  return `next ${times === 1 ? '' : `${times} `}${action} ${what}`
}

const FAULT_WORDS: ReadonlyMap<string, string> = new Map([
  ['lost_answer', 'lose their answer'],
  ['lost_request', 'get lost before their effect'],
  ['empty', 'come back empty'],
])

export const isFailed = ({ status, fault }: JournalEntry): boolean => status >= 400 || fault !== null

/** What somebody did here, to be seen among what LCM made of it. */
export interface Deed {
  readonly id: string
  readonly atMs: number
  readonly text: string
}

export type FeedItem<D> =
  | { readonly atMs: number; readonly deed: Deed }
  | { readonly atMs: number; readonly decision: D }

/** Deeds and decisions together, the newest first. */
export function feedOf<D extends { readonly at: string }>(
  deeds: readonly Deed[],
  decisions: readonly D[],
): FeedItem<D>[] {
  const done: FeedItem<D>[] = deeds.map(deed => ({ atMs: deed.atMs, deed }))
  const decided: FeedItem<D>[] = decisions.map(decision => ({ atMs: toMs(decision.at), decision }))
  return [...done, ...decided].toSorted((a, b) => b.atMs - a.atMs)
}
