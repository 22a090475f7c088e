import { type Instant, toMs } from '../instant.ts'
import { diskPerHour } from '../worker/cost.ts'
import type { Worker } from '../worker/worker.ts'
import type { Commitment } from './budget.ts'
import type { FleetScaling } from './fleet-scaling.ts'

type Commitments = FleetScaling['commitments']

/** A worker that was bought or woken shows it within this time; later it was stopped again, or never created. */
const PENDING_MS_MAX = 10 * 60_000

interface Committed {
  readonly workers: readonly Worker[]
  readonly commitments: Commitments
  /** By session id: when it leaves its worker. */
  readonly endsMs: ReadonlyMap<string, number>
  readonly nowMs: number
  /** Disks are counted until then. */
  readonly untilMs: number
}

/** What the fleet will cost without another purchase or wake-up: machines until the end of their known use, and all disks. */
export function committedSpending({ workers, commitments, endsMs, nowMs, untilMs }: Committed): Commitment[] {
  const running = new Set(workers.filter(isToRun).map(({ id }) => id))
  const known = new Set(workers.map(({ id }) => id))
  const ofWorkers = workers.flatMap((worker): Commitment[] => {
    const promisedMs = commitments[worker.id] === undefined ? nowMs : toMs(commitments[worker.id]?.until ?? '')
    const endMs = Math.max(promisedMs, plannedEndMs(worker, endsMs, nowMs))
    const usdPerHour = worker.cost_per_hour_usd ?? 0
    return [
      { fromMs: nowMs, untilMs, usdPerHour: diskPerHour(worker) },
      ...(running.has(worker.id) ? [{ fromMs: nowMs, untilMs: endMs, usdPerHour }] : []),
    ]
  })
  const ofOthers = Object.entries(commitments).flatMap(([id, { at, until, ...price }]): Commitment[] =>
    running.has(id) || !isPending(at, nowMs)
      ? []
      : [
          { fromMs: nowMs, untilMs: toMs(until), usdPerHour: price.usd_per_hour },
          { fromMs: nowMs, untilMs: known.has(id) ? nowMs : untilMs, usdPerHour: price.disk_usd_per_hour },
        ],
  )
  return [...ofWorkers, ...ofOthers].filter(each => each.usdPerHour > 0 && each.untilMs > nowMs)
}

/** The commitments that still count. */
export const openCommitments = (commitments: Commitments, workers: readonly Worker[], nowMs: number): Commitments => {
  const running = new Set(workers.filter(isToRun).map(({ id }) => id))
  return Object.fromEntries(
    Object.entries(commitments).filter(
      ([id, { at, until }]) => toMs(until) > nowMs && (running.has(id) || isPending(at, nowMs)),
    ),
  )
}

const isPending = (at: Instant, nowMs: number): boolean => nowMs - toMs(at) < PENDING_MS_MAX

const NOT_TO_RUN: ReadonlySet<Worker['status']> = new Set(['FAILED', 'TERMINATING', 'TERMINATED'])
export const isToRun = ({ desired_status, status }: Worker): boolean =>
  desired_status === 'RUNNING' && !NOT_TO_RUN.has(status)

/** The end of the last session that is on the worker or waits for it, and of a person's request to keep it running. */
function plannedEndMs(
  { reservations, wanted_by, desired_until }: Worker,
  endsMs: ReadonlyMap<string, number>,
  nowMs: number,
): number {
  const ends = [...Object.keys(reservations), ...wanted_by].map(id => endsMs.get(id) ?? nowMs)
  return Math.max(nowMs, desired_until === null ? nowMs : toMs(desired_until), ...ends)
}
