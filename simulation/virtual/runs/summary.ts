import { MINUTE_MS } from '../world/durations.ts'
import { SETTLED_MS_MAX } from './settle.ts'
import type { Outcome } from './whole-run.ts'

/** Totals of many runs. */
export interface Summary {
  runs: number
  failures: number
  virtual_hours: number
  worker_hours: number
  worker_hours_per_second: number
  launches: number
  sessions: number
  kills: number
  faults: number
  longest_rest_minutes: number
  /** Limit of the time to settle. */
  rest_minutes_max: number
  seconds: number
  /** The XOR of the trace hashes of all runs, independent of their order. */
  fingerprint: string
  /** The same of the behavior hashes. */
  behavior_fingerprint: string
  /** The same of the history hashes. */
  history_fingerprint: string
}

export interface Counting {
  succeeded(outcome: Outcome): void
  failed(): void
  summary(seconds: number): Summary
}

export function counting(): Counting {
  const outcomes: Outcome[] = []
  let failures = 0
  const sum = (of: (outcome: Outcome) => number) => Math.round(outcomes.reduce((total, each) => total + of(each), 0))
  return {
    succeeded: outcome => void outcomes.push(outcome),
    failed() {
      failures += 1
    },
    summary: seconds => ({
      runs: outcomes.length + failures,
      failures,
      virtual_hours: sum(({ virtualHours }) => virtualHours),
      worker_hours: sum(({ workerHours }) => workerHours),
      worker_hours_per_second: Math.round(sum(({ workerHours }) => workerHours) / seconds),
      launches: sum(({ launches }) => launches),
      sessions: sum(({ ends }) => Object.values(ends).reduce((total, each) => total + each, 0)),
      kills: sum(({ kills }) => kills),
      faults: sum(({ faults }) => faults),
      longest_rest_minutes: Math.max(0, ...outcomes.map(({ settleMinutes: restMinutes }) => restMinutes)),
      rest_minutes_max: SETTLED_MS_MAX / MINUTE_MS,
      seconds: Math.round(seconds),
      fingerprint: folded(outcomes.map(({ hash }) => hash)),
      behavior_fingerprint: folded(outcomes.map(({ behavior }) => behavior)),
      history_fingerprint: folded(outcomes.map(({ history }) => history)),
    }),
  }
}

const folded = (hashes: readonly string[]): string =>
  hashes
    .reduce((fold, hash) => fold ^ BigInt(`0x${hash}`), 0n)
    .toString(16)
    .padStart(16, '0')

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The summary as one line of text. */
export const summaryLine = (summary: Summary): string =>
  `${plural(summary.runs, 'run')}, ${plural(summary.failures, 'violation')}, ${summary.virtual_hours} virtual hours, ` +
  `${summary.worker_hours} worker-hours (${summary.worker_hours_per_second} per CPU second), ` +
  `${summary.launches} launches, ${summary.sessions} sessions, ${summary.kills} crashes, ${summary.faults} faults, ` +
  `fingerprint ${summary.fingerprint}, of behavior ${summary.behavior_fingerprint}, ` +
  `of histories ${summary.history_fingerprint}`
