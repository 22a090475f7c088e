import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isFault } from '../acts/act.ts'
import { type ActContext, actContext, living } from '../acts/act-context.ts'
import { perform } from '../acts/perform.ts'
import type { Plan, RunSize } from '../acts/plan.ts'
import { METAL } from '../world/control-plane.ts'
import { RELAXED_SETTINGS } from '../world/controller-settings.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { USER_DATA } from '../world/planted-secrets.ts'
import { type Defects, openWorld, type World, type WorldOptions } from '../world/world.ts'
import { stopFaults, untilSettled } from './settle.ts'

/** The result of a run without violations. */
export interface Outcome {
  /** Hash of the whole trace. */
  readonly hash: string
  /** Hash without texts: unaffected by wording and layout. */
  readonly behavior: string
  /** Hash of the states of each resource, without texts, times and calls. */
  readonly history: string
  readonly virtualHours: number
  /** Sum of the hours of all workers, from the first act to the last. */
  readonly workerHours: number
  /** Virtual time from the end of all faults until the system settled. */
  readonly settleMinutes: number
  readonly launches: number
  /** Ended sessions by status and kind of error. */
  readonly ends: Readonly<Record<string, number>>
  readonly kills: number
  readonly faults: number
}

export interface RunOptions {
  readonly defects?: Defects
  /** Stops the run at this virtual time. */
  readonly untilMs?: number
  /** Called with the virtual hour. */
  onProgress?(hour: number): void
}

const CHECK_INTERVAL_MS = 30 * MINUTE_MS

const OPTIONS: Readonly<Record<RunSize['pace'], WorldOptions>> = {
  brisk: { speed: 30, labsCountedMs: 5_000 },
  long: { speed: 10, labsCountedMs: MINUTE_MS, settings: RELAXED_SETTINGS },
}

/**
 * Runs the whole system with the planned acts, then without faults until it has settled. Rejects when an invariant is violated or
 * the system does not settle.
 */
export async function wholeRun({ seed, size, acts }: Plan, options: RunOptions = {}): Promise<Outcome> {
  const { defects = {}, untilMs = Number.POSITIVE_INFINITY } = options
  // From too few licenses to one for every worker.
  const licensesOwned = 1 + (seed % size.workers)
  const world = await openWorld(seed, { ...OPTIONS[size.pace], licensesOwned, defects })
  const context = actContext(world, size)
  await context.learner.define()
  await plantUserData(world)
  await context.operator.set({
    max_workers_per_region: size.workers + Math.ceil(size.workers / 10),
    min_workers: Math.floor(size.workers / 4),
  })
  const timelineOfRun = timeline(world, context, options)
  const pending = new Set<Promise<void>>()
  for (const act of acts) {
    await timelineOfRun.to(Math.min(act.atMs, untilMs))
    if (act.atMs >= untilMs) break
    const performed: Promise<void> = perform(context, act).finally(() => pending.delete(performed))
    pending.add(performed)
  }
  await timelineOfRun.to(Math.min(size.hours * HOUR_MS, untilMs))
  if (untilMs === Number.POSITIVE_INFINITY) await world.untilTrue('a response to every act', () => pending.size === 0)
  const fromMs = world.time.clock.monotonic()
  if (untilMs === Number.POSITIVE_INFINITY) {
    await stopFaults(context)
    await untilSettled(context)
  }
  const settleMinutes = Math.round((world.time.clock.monotonic() - fromMs) / MINUTE_MS)
  await world.close()
  return {
    hash: world.time.traceHash(),
    behavior: world.time.behaviorHash(),
    history: world.time.historyHash(),
    virtualHours: world.time.clock.monotonic() / HOUR_MS,
    workerHours: timelineOfRun.workerHours(),
    settleMinutes: settleMinutes,
    launches: world.mutations.filter(({ act }) => act === 'launch').length,
    ends: tally([...world.sessions.sessions.values()]),
    kills: context.replicas.kills + world.api.kills,
    faults: acts.filter(({ act }) => isFault(act)).length + world.faults.injected,
  }
}

/** Later edits of the template don't mention the user data, which keeps it. */
async function plantUserData({ client }: World): Promise<void> {
  const { name, ...spec } = METAL
  await client.call('putTemplate', { params: { name }, body: { ...spec, user_data: USER_DATA } })
}

/** Advances time from act to act and checks all invariants every half hour. */
function timeline(world: World, context: ActContext, { onProgress }: RunOptions) {
  const { clock } = world.time
  const startMs = clock.monotonic()
  let workerMs = 0
  let nextCheckMs = CHECK_INTERVAL_MS
  async function step(toMs: number): Promise<void> {
    const ms = startMs + toMs - clock.monotonic()
    if (ms <= 0) return
    workerMs += living(context).length * ms
    await world.runFor(ms)
  }
  return {
    workerHours: () => workerMs / HOUR_MS,
    async to(toMs: number): Promise<void> {
      while (nextCheckMs < toMs) {
        await step(nextCheckMs)
        await world.invariants.check()
        onProgress?.(nextCheckMs / HOUR_MS)
        nextCheckMs += CHECK_INTERVAL_MS
      }
      await step(toMs)
    },
  }
}

function tally(sessions: readonly LabletSession[]): Record<string, number> {
  const ends: Record<string, number> = {}
  for (const { status, desired_status, last_error } of sessions) {
    const why = last_error?.split(':')[0] ?? (desired_status === 'TERMINATED' ? 'canceled' : '')
    const end = `${status} ${why}`.trim()
    ends[end] = (ends[end] ?? 0) + 1
  }
  return ends
}
