import { toMs } from '@lcm/domain/instant'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import { labTruths } from '../invariants/session/lab-truth.ts'
import { MINUTE_MS } from '../world/durations.ts'
import type { World } from '../world/world.ts'

/** A machine may need so long, so a promise that is given later can't be kept at the start. */
const NOTICE_MS = 40 * MINUTE_MS
/** Promises are checked every minute. */
const LATE_MS_MAX = MINUTE_MS
/** Time for the event of a write. */
const EVENT_MS = 5_000
/** A machine is started for sessions that begin within this time. */
const STARTED_FOR_MS = 90 * MINUTE_MS

export interface KeptPromises {
  /** To be called every minute. */
  step(): void
  /** By session id: how its promise was broken first. */
  readonly broken: ReadonlyMap<string, string>
  /** Machines that were started, stopped and started again for the same session, judged by what EC2 was asked. */
  flaps(): readonly string[]
}

/**
 * While nothing takes capacity away, every admitted session has its lab from the start of its timeslot to the end, on a machine of
 * the simulated cloud.
 */
export function keptPromises(world: World): KeptPromises {
  const { sessions, workers } = followed(world)
  const { clock } = world.time
  const truthOf = labTruths({ cloud: world.cloud, access: world.access, following: world.sessions.following })
  const broken = new Map<string, string>()

  function breachOf(session: LabletSession): string | null {
    const { id, status, admission } = session
    if (admission.at_risk !== null) return `${id} was admitted and is at risk: ${admission.at_risk.message}`
    const minutes = Math.round((clock.now() - toMs(session.timeslot.start)) / MINUTE_MS)
    const reason = session.waiting_reason?.message ?? session.last_error ?? 'no reason'
    if (!isUp(status)) return `${id} was admitted and is ${status} at minute ${minutes} of its timeslot: ${reason}`
    return truthOf(session).isLabUp ? null : `${id} was admitted and has no running lab at minute ${minutes}`
  }

  return {
    broken,
    step() {
      for (const session of sessions.values()) {
        if (session.admission.kind !== 'admitted' || broken.has(session.id) || !isDue(session, clock.now())) continue
        const breach = breachOf(session)
        if (breach !== null) broken.set(session.id, breach)
      }
    },
    flaps: () => [...workers.values()].flatMap(({ id, name }) => flapsOf(world, { id, name })),
  }
}

const followed = ({ sessions }: World) => sessions.following

/** Whether its owner relies on it: from the start of the timeslot to the end, unless it was canceled. */
function isDue({ timeslot, created_at, desired_status }: LabletSession, nowMs: number): boolean {
  const fromMs = Math.max(toMs(timeslot.start), toMs(created_at) + NOTICE_MS) + LATE_MS_MAX
  return desired_status === 'RUNNING' && nowMs >= fromMs && nowMs < toMs(timeslot.end) - EVENT_MS
}

const POWER: readonly string[] = ['launch', 'start', 'stop']

function flapsOf(world: World, { id, name }: { readonly id: string; readonly name: string }): string[] {
  const moves = world.mutations.filter(({ worker, act }) => worker === id && POWER.includes(act))
  return moves.flatMap((again, at) => {
    const [first, stop] = [moves[at - 2], moves[at - 1]]
    if (first === undefined || stop?.act !== 'stop' || again.act !== 'start' || first.act === 'stop') return []
    const next = firstLabOn(world, id, first.atMs)
    if (next === undefined || labStartMs(next) < again.atMs || toMs(next.created_at) >= first.atMs) return []
    if (toMs(next.timeslot.start) - first.atMs > STARTED_FOR_MS) return []
    const minutes = Math.round((again.atMs - stop.atMs) / MINUTE_MS)
    return [`${name} was stopped before it was used, and started again ${minutes} min later for ${next.id}`]
  })
}

const labStartMs = ({ state_history }: LabletSession): number => {
  const at = state_history.findLast(({ to }) => to === 'INSTANTIATING')?.at
  return at === undefined ? Number.NEGATIVE_INFINITY : toMs(at)
}

function firstLabOn(world: World, worker: string, sinceMs: number): LabletSession | undefined {
  const ofWorker = [...followed(world).sessions.values()].filter(({ worker_id }) => worker_id === worker)
  return ofWorker.filter(each => labStartMs(each) >= sinceMs).toSorted((a, b) => labStartMs(a) - labStartMs(b))[0]
}
