import type { DecisionRecord } from '@lcm/domain/decision'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { section } from './description.ts'
import { formatDuration } from './duration.ts'
import { decisionLines, plannedText, reasonsOf } from './explanation.ts'
import type { Colors } from './output.ts'
import { printable } from './table.ts'
import { ageOf, inkOf, isBootStage, waitsFor } from './worker-view.ts'

export interface Explained {
  readonly worker: Worker
  /** Newest first. */
  readonly decisions: readonly DecisionRecord[]
  readonly plan: PlannedAction | null
}

/** Why a worker is where it is, what happens next, and what its reader can do about it. */
export function explainWorker({ worker, decisions, plan }: Explained, nowMs: number, colors: Colors): string[] {
  const part = (title: string, lines: readonly string[]) => section(title, lines.map(printable), colors)
  const status = inkOf(worker.status, colors)(worker.status)
  return [
    `${colors.bold(printable(worker.name))} is ${status}, for ${ageOf(worker.entered_status_at, nowMs)} now.`,
    ...part('Why', reasonsOf(worker.state_history, decisions)),
    ...part('Wanted', [wantedOf(worker, nowMs)]),
    ...part('Next', [nextOf(worker, plan, nowMs)]),
    ...part('What stands out', obstaclesOf(worker, nowMs)),
    ...part('What you can do', adviceFor(worker)),
    ...part('Decisions, newest first', decisionLines(decisions, nowMs)),
  ]
}

function wantedOf(worker: Worker, nowMs: number): string {
  const { desired_status, desired_by, desired_reason, desired_until, drain } = worker
  const why = desired_reason === '' ? '' : `: ${desired_reason}`
  const until =
    desired_until !== null && toMs(desired_until) > nowMs
      ? `; no policy changes that for another ${formatDuration(toMs(desired_until) - nowMs)}`
      : ''
  const draining = drain === null ? '' : `; ${drain.by} asked to drain it, then ${drain.then}`
  return `${desired_status}, by ${desired_by}${why}${until}${draining}`
}

function nextOf(worker: Worker, plan: PlannedAction | null, nowMs: number): string {
  if (plan !== null) return plannedText(plan, nowMs)
  if (worker.status === 'TERMINATED') return 'nothing; TERMINATED is final'
  const waits = waitsFor(worker)
  return waits === '' ? 'nothing; it is as it should be' : waits
}

const obstaclesOf = (worker: Worker, nowMs: number): string[] => [
  ...worker.conditions
    .filter(condition => condition.status && !isBootStage(condition))
    .map(({ type, message, since }) => `${type}, for ${ageOf(since, nowMs)}: ${message}`),
  ...(worker.license.last_error === null ? [] : [`its licence: ${worker.license.last_error}`]),
]

function adviceFor(worker: Worker): string[] {
  const { name, status, desired_status } = worker
  const paused = worker.pause.reason !== null && desired_status === 'STOPPED'
  if (status === 'FAILED')
    return [
      `lcm retry worker ${name}        try again what failed`,
      `lcm terminate worker ${name}    end it`,
      `lcm describe worker ${name}     see its boot and launch`,
    ]
  if (paused || (status === 'STOPPED' && desired_status === 'STOPPED'))
    return [`lcm start worker ${name}    run it again`]
  return []
}
