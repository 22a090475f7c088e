import { type Losses, mayLose, recentLosses } from '@lcm/domain/fleet/machine-loss-limit'
import { toInstant, toMs } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { MANUAL } from '@lcm/domain/text/action-words'
import { probedAgainMs } from '@lcm/domain/worker/decision/cml-service'
import type { Decision } from '@lcm/domain/worker/decision/decision'
import { BLOCKED_CONDITION } from '@lcm/domain/worker/decision/ec2-refusal'
import { offerKey } from '@lcm/domain/worker/decision/launch'
import type { DriftType } from '@lcm/domain/worker/drift'
import type { CmlObservation, Ec2Observation, LostLabs, WorkerPolicy } from '@lcm/domain/worker/observation'
import { CONDITION, type LaunchAttempt, type Worker } from '@lcm/domain/worker/worker'
import { isManual } from '@lcm/domain/worker/worker-next-step'
import type { Clock } from '@lcm/runtime/clock'
import { planBoard } from '../kit/decision-log.ts'
import { type CmlOutages, cmlOutages } from './cml-outages.ts'
import type { WorkerControllerConfig } from './config.ts'

/**
 * Facts of one leadership term that later reconciles need. A new leader starts with an empty memory, so it is
 * slower to confirm an absence or a silence, and never quicker.
 */
export interface WorkerMemory {
  readonly fleet: FleetMemory
  readonly observations: ObservationMemory
  readonly launches: LaunchMemory
  readonly tags: TagBackoff
  readonly metrics: MetricsAge
  readonly probes: ProbeSchedule
  readonly cmlOutages: CmlOutages
  /** Workers whose CML confirmed the return of its license; kept until the record shows it. */
  readonly returnedLicenses: Set<string>
  /** By worker: the refresh request that fresh metrics were collected for. */
  readonly refreshes: Map<string, string>
  /** By worker whose running nodes were counted: the monotonic time at which telemetry was last read, if no node ran since. */
  readonly counted: Map<string, number | null>
  forget(workerId: string): void
}

export function workerMemory(clock: Clock, config: WorkerControllerConfig): WorkerMemory {
  const memory = {
    fleet: fleetMemory(clock),
    observations: observationMemory(config.policy),
    launches: launchMemory(config.policy.capacityPauseMs),
    tags: tagBackoff(),
    metrics: metricsAge(config.metricsIntervalMs),
    probes: probeSchedule(config.idleCheckIntervalMs),
    cmlOutages: cmlOutages(clock),
    returnedLicenses: new Set<string>(),
    refreshes: new Map<string, string>(),
    counted: new Map<string, number | null>(),
  }
  const { fleet, observations, launches, tags, metrics, probes, returnedLicenses, refreshes, counted } = memory
  return {
    ...memory,
    forget(workerId) {
      for (const each of [fleet, observations, launches, tags, metrics, probes, memory.cmlOutages])
        each.forget(workerId)
      for (const each of [returnedLicenses, refreshes, counted]) each.delete(workerId)
    },
  }
}

interface LaunchMemory extends CapacityRefusals {
  /** Nothing of this open attempt was sent yet, so it has no machine. */
  opened(workerId: string, clientToken: string): void
  /** The open attempt is about to be sent. Answers whether nothing of it was sent before. */
  sending(workerId: string): boolean
  isUnsent(workerId: string, clientToken: string): boolean
  forget(workerId: string): void
}

function launchMemory(pauseMs: number): LaunchMemory {
  const unsent = new Map<string, string>()
  return {
    ...capacityRefusals(pauseMs),
    opened: (workerId, clientToken) => void unsent.set(workerId, clientToken),
    sending: workerId => unsent.delete(workerId),
    isUnsent: (workerId, clientToken) => unsent.get(workerId) === clientToken,
    forget: workerId => void unsent.delete(workerId),
  }
}

/** Offers (instance type and subnet) that the cloud refused for lack of capacity, shared by all workers of a region. */
interface CapacityRefusals {
  refused(region: string, attempt: LaunchAttempt, nowMs: number): void
  /** The end of the pause of each refused offer. */
  activeIn(region: string, nowMs: number): ReadonlyMap<string, number>
}

export function capacityRefusals(pauseMs: number): CapacityRefusals {
  const byRegion = new Map<string, Map<string, number>>()
  return {
    refused(region, { parameters }, nowMs) {
      const offers = byRegion.get(region) ?? new Map<string, number>()
      byRegion.set(region, offers)
      const key = offerKey(parameters)
      // A retry within the pause must not prolong it, or it might never end.
      if ((offers.get(key) ?? 0) <= nowMs) offers.set(key, nowMs + pauseMs)
    },
    activeIn(region, nowMs) {
      const offers = byRegion.get(region) ?? new Map<string, number>()
      for (const [key, untilMs] of offers) if (untilMs <= nowMs) offers.delete(key)
      return offers
    },
  }
}

/** The first pause doubles with every repetition, up to the longest. */
const TAG_PAUSE_MS = { first: 60_000, longest: 30 * 60_000 } as const

interface SentTag {
  readonly name: string
  readonly pauseMs: number
  readonly untilMs: number
}

/** Backoff for setting the Name tag again: EC2 may refuse it or show it late, and another tool may change it back. */
interface TagBackoff {
  sent(worker: Worker, nowMs: number): void
  /** 0 when the name may be set now. A new name never waits for an old one. */
  leftMs(worker: Worker, nowMs: number): number
  forget(workerId: string): void
}

export function tagBackoff(): TagBackoff {
  const last = new Map<string, SentTag>()
  /** A repetition long after the last pause starts over. */
  const repeated = ({ id, name }: Worker, nowMs: number): SentTag | null => {
    const sent = last.get(id)
    return sent !== undefined && sent.name === name && nowMs < sent.untilMs + TAG_PAUSE_MS.longest ? sent : null
  }
  return {
    sent(worker, nowMs) {
      const before = repeated(worker, nowMs)
      const pauseMs = before === null ? TAG_PAUSE_MS.first : Math.min(2 * before.pauseMs, TAG_PAUSE_MS.longest)
      last.set(worker.id, { name: worker.name, pauseMs, untilMs: nowMs + pauseMs })
    },
    leftMs: (worker, nowMs) => Math.max(0, (repeated(worker, nowMs)?.untilMs ?? nowMs) - nowMs),
    forget: workerId => void last.delete(workerId),
  }
}

/** Metrics are stale after this many missed samples. */
const STALE_INTERVALS = 3

/** The age of the last metrics of each running worker. */
export interface MetricsAge {
  measured(workerId: string, nowMs: number): void
  /** The time of the last sample when it is too old; else null. */
  staleSince(worker: Worker, nowMs: number): number | null
  forget(workerId: string): void
}

export function metricsAge(intervalMs: number): MetricsAge {
  const times = new Map<string, number>()
  return {
    measured: (workerId, nowMs) => void times.set(workerId, nowMs),
    staleSince(worker, nowMs) {
      if (worker.status !== 'RUNNING') {
        times.delete(worker.id)
        return null
      }
      const last = times.get(worker.id) ?? reportedStaleSince(worker) ?? nowMs
      times.set(worker.id, last)
      return nowMs - last > STALE_INTERVALS * intervalMs ? last : null
    },
    forget: workerId => void times.delete(workerId),
  }
}

/** The condition of an earlier term holds until there is a sample. */
function reportedStaleSince({ conditions }: Worker): number | null {
  const stale = conditions.find(({ type, status }) => type === CONDITION.metricsStale && status)
  return stale === undefined ? null : toMs(stale.since)
}

/** How often a worker that lost its last session is probed, and for how long: it may be stopped soon. */
const RELEASED = { everyMs: 60_000, forMs: 10 * 60_000 } as const

/** The time of the last probe of each worker's CML. A new leader probes at once. */
interface ProbeSchedule {
  isDue(worker: Worker, nowMs: number): boolean
  requested(workerId: string, nowMs: number): void
  forget(workerId: string): void
}

export function probeSchedule(everyMs: number): ProbeSchedule {
  const lastMs = new Map<string, number>()
  const inUse = new Set<string>()
  const releasedMs = new Map<string, number>()
  return {
    isDue(worker, nowMs) {
      const { id, status, service_status, reservations } = worker
      if (Object.keys(reservations).length > 0) {
        inUse.add(id)
        releasedMs.delete(id)
      } else if (inUse.delete(id)) releasedMs.set(id, nowMs)
      if (status !== 'RUNNING' || service_status !== 'AVAILABLE') return false
      const lastOf = lastMs.get(id) ?? Number.NEGATIVE_INFINITY
      const released = releasedMs.get(id) ?? Number.POSITIVE_INFINITY
      const isReleased = nowMs >= released && nowMs < released + RELEASED.forMs
      if (isReleased && lastOf < released) return true
      return nowMs - lastOf >= (isReleased ? Math.min(everyMs, RELEASED.everyMs) : everyMs)
    },
    requested: (workerId, nowMs) => void lastMs.set(workerId, nowMs),
    forget(workerId) {
      for (const each of [lastMs, inUse, releasedMs]) each.delete(workerId)
    },
  }
}

/** EC2 may not show a new machine for minutes. */
const LAUNCH_GRACE_MS = 5 * 60_000

/**
 * Results of earlier observations that the next one needs. Memory only: a new leader starts over, which makes it slower to
 * confirm an absence and never quicker.
 */
export interface ObservationMemory {
  /** The machine was missing in a complete response. Confirmed only after an earlier miss and the grace period of its launch. */
  missed(worker: Worker, clock: Pick<Clock, 'now' | 'monotonic'>): Ec2Observation
  found(workerId: string): void
  /** A launch was just sent, so the absence is counted from now. */
  launchSent(workerId: string): void
  /** The last probe of this address, if it is too recent to repeat. */
  recentCml(worker: Pick<Worker, 'id' | 'cml'>, url: string, nowMs: number): CmlObservation | null
  sawCml(workerId: string, url: string, probe: Omit<CmlObservation, 'ready_streak'>, nowMs: number): CmlObservation
  /** Drops the last probe: nothing waits for CML now. */
  forgetCml(workerId: string): void
  /** A check of CML failed, so that the next reconcile probes it: one lost answer proves nothing. */
  suspectCml(workerId: string): void
  isSuspect(workerId: string): boolean
  /** The labs that stopped without a request; null when none were found. */
  lostLabs(workerId: string): LostLabs | null
  lostLabsFound(workerId: string, labs: LostLabs): void
  forget(workerId: string): void
}

interface CmlMemory {
  readonly url: string
  readonly atMs: number
  readonly observation: CmlObservation
}

export function observationMemory(policy: Pick<WorkerPolicy, 'probeIntervalMs' | 'missesApartMs'>): ObservationMemory {
  const absences = absentMachines(policy.missesApartMs)
  const probed = new Map<string, CmlMemory>()
  const suspects = new Set<string>()
  const lost = new Map<string, LostLabs>()
  return {
    ...absences,
    recentCml(worker, url, nowMs) {
      const last = probed.get(worker.id)
      if (last?.url !== url) return null
      // A timer may fire slightly early, which must not cost a whole interval.
      const isRecent = nowMs - last.atMs < probedAgainMs(worker, last.observation, policy) * 0.9
      return isRecent ? last.observation : null
    },
    sawCml(workerId, url, probe, nowMs) {
      const last = probed.get(workerId)
      const before = last?.url === url ? last.observation.ready_streak : 0
      const observation = { ...probe, ready_streak: probe.stage === 'READY' ? before + 1 : 0 }
      probed.set(workerId, { url, atMs: nowMs, observation })
      if (probe.stage === 'READY') suspects.delete(workerId)
      return observation
    },
    forgetCml: workerId => void probed.delete(workerId),
    suspectCml: workerId => void suspects.add(workerId),
    isSuspect: workerId => suspects.has(workerId),
    lostLabs: workerId => lost.get(workerId) ?? null,
    lostLabsFound: (workerId, labs) => void lost.set(workerId, labs),
    forget(workerId) {
      absences.forget(workerId)
      probed.delete(workerId)
      suspects.delete(workerId)
      lost.delete(workerId)
    },
  }
}

/** Tracks present and missing machines. */
function absentMachines(missesApartMs: number) {
  const firstMissAt = new Map<string, number>()
  const present = new Set<string>()
  const lost = new Set<string>()
  let losses: Losses = []

  /** Whether one more loss is plausible, given the recent ones. */
  function isBelieved(worker: Worker, nowMs: number): boolean {
    // A requested termination is no loss, and a machine that never existed can't vanish.
    if (worker.desired_status === 'TERMINATED' || worker.ec2_instance_id === null || lost.has(worker.id)) return true
    losses = recentLosses(losses, nowMs)
    if (!mayLose(losses, present.size + losses.length, nowMs)) return false
    losses = [...losses, nowMs]
    lost.add(worker.id)
    return true
  }

  return {
    missed(worker: Worker, clock: Pick<Clock, 'now' | 'monotonic'>): Ec2Observation {
      // Monotonic: a wall clock set ahead must not make two misses seem far apart.
      const atMs = clock.monotonic()
      const first = firstMissAt.get(worker.id) ?? atMs
      firstMissAt.set(worker.id, first)
      // An open attempt may have been repeated a moment ago, so the grace is counted from the first miss since then.
      const apartMs = worker.launch?.state === 'open' ? LAUNCH_GRACE_MS : missesApartMs
      const launchedAt = worker.launch === null ? 0 : toMs(worker.launch.requested_at)
      const isLongEnough = atMs - first >= apartMs && clock.now() - launchedAt >= LAUNCH_GRACE_MS
      const seconds = Math.round((atMs - first) / 1000)
      const because = reason('instance_not_listed', { seconds })
      if (!isLongEnough) return { kind: 'absent', confirmed: false, because }
      if (isBelieved(worker, atMs)) return { kind: 'absent', confirmed: true, because }
      const doubt = reason('many_instances_not_listed', { seconds, others: losses.length })
      return { kind: 'absent', confirmed: false, because: doubt }
    },
    found(workerId: string): void {
      firstMissAt.delete(workerId)
      lost.delete(workerId)
      present.add(workerId)
    },
    launchSent: (workerId: string): void => void firstMissAt.delete(workerId),
    forget(workerId: string): void {
      firstMissAt.delete(workerId)
      present.delete(workerId)
      lost.delete(workerId)
    },
  }
}

/** The last reconcile of each worker, for the plan and the counts of the admin server. */
export interface FleetMemory {
  reconciled(worker: Worker, found: { decision: Decision; drift: DriftType | null }): void
  forget(workerId: string): void
  plan(): readonly PlannedAction[]
  workersManaged(): number
  workersWithDrift(): number
  runningIds(): readonly string[]
}

interface Reconciled {
  readonly status: Worker['status']
  readonly drift: DriftType | null
}

export function fleetMemory(clock: Pick<Clock, 'now'>): FleetMemory {
  const workers = new Map<string, Reconciled>()
  const board = planBoard()
  return {
    reconciled(worker, { decision, drift }) {
      workers.set(worker.id, { status: worker.status, drift })
      board.set(`worker:${worker.id}`, plannedFor(worker, decision, clock.now()))
    },
    forget(workerId) {
      workers.delete(workerId)
      board.forget(`worker:${workerId}`)
    },
    plan: board.plan,
    workersManaged: () => workers.size,
    workersWithDrift: () => [...workers.values()].filter(({ drift }) => drift !== null).length,
    runningIds: () => [...workers].flatMap(([id, { status }]) => (status === 'RUNNING' ? [id] : [])),
  }
}

function plannedFor(
  worker: Worker,
  { action, because }: Decision,
  nowMs: number,
): Omit<PlannedAction, 'resource'> | null {
  const isBlocked = action.kind === 'nothing' && isManual(worker)
  // A routine probe is no plan.
  if ((action.kind === 'nothing' || action.kind === 'survey') && !isBlocked) return null
  return {
    action: isBlocked ? MANUAL : action.kind,
    because: refusalOf(worker, action.kind) ?? because,
    due_at: isBlocked ? null : dueAt(action, nowMs),
  }
}

/** Why EC2 refused the same action last time; the retry alone would explain nothing. */
function refusalOf({ conditions }: Worker, act: string): Reason | null {
  const type = new Map<string, string>(Object.entries(BLOCKED_CONDITION)).get(act)
  return conditions.find(each => each.type === type && each.status)?.reason ?? null
}

/** Only the loop knows when the backoff of a retry ends. */
const dueAt = (action: Decision['action'], nowMs: number): string | null =>
  action.kind === 'retry' ? null : toInstant(nowMs + (action.kind === 'wait' ? action.afterMs : 0))
