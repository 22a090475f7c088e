import { toMs } from '@lcm/domain/instant'
import { offerKey } from '@lcm/domain/worker/decision/launch'
import { CONDITION, type LaunchAttempt, type Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import { type CmlOutages, cmlOutages } from './cml-outages.ts'
import type { WorkerControllerConfig } from './config.ts'
import { type ObservationMemory, observationMemory } from './observation-memory.ts'

/**
 * What observations and effects of one leadership term leave for later ones. A new leader starts with an empty memory, so it is
 * slower to believe in an absence or a silence, and never quicker.
 */
export interface WorkerMemory {
  readonly observations: ObservationMemory
  readonly launches: LaunchMemory
  readonly tags: TagBackoff
  readonly metrics: MetricsAge
  readonly probes: ProbeSchedule
  readonly cmlOutages: CmlOutages
  /** Workers whose CML said that it returned its license; kept until the record says so. */
  readonly returnedLicenses: Set<string>
  /** By worker: the refresh request that fresh metrics were collected for. */
  readonly refreshes: Map<string, string>
  forget(workerId: string): void
}

export function workerMemory(clock: Clock, config: WorkerControllerConfig): WorkerMemory {
  const memory = {
    observations: observationMemory(config.policy),
    launches: launchMemory(config.policy.capacityPauseMs),
    tags: tagBackoff(),
    metrics: metricsAge(config.metricsIntervalMs),
    probes: probeSchedule(config.idleCheckIntervalMs),
    cmlOutages: cmlOutages(clock),
    returnedLicenses: new Set<string>(),
    refreshes: new Map<string, string>(),
  }
  const { observations, launches, tags, metrics, probes, returnedLicenses, refreshes } = memory
  return {
    ...memory,
    forget(workerId) {
      for (const each of [observations, launches, tags, metrics, probes, memory.cmlOutages]) each.forget(workerId)
      for (const each of [returnedLicenses, refreshes]) each.delete(workerId)
    },
  }
}

export interface LaunchMemory extends CapacityRefusals {
  /** Nothing of this open attempt was sent yet, so there is no machine to look for. */
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
export interface CapacityRefusals {
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
export interface TagBackoff {
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

/** The time of the last probe of each worker's CML. A new leader probes at once. */
export interface ProbeSchedule {
  isDue(worker: Worker, nowMs: number): boolean
  requested(workerId: string, nowMs: number): void
  forget(workerId: string): void
}

export function probeSchedule(everyMs: number): ProbeSchedule {
  const lastMs = new Map<string, number>()
  return {
    isDue(worker, nowMs) {
      if (worker.status !== 'RUNNING' || worker.service_status !== 'AVAILABLE') return false
      return nowMs - (lastMs.get(worker.id) ?? Number.NEGATIVE_INFINITY) >= everyMs
    },
    requested: (workerId, nowMs) => void lastMs.set(workerId, nowMs),
    forget: workerId => void lastMs.delete(workerId),
  }
}
