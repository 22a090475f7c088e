import type { DecisionRecord } from '@lcm/domain/decision'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { formatDuration } from './duration.ts'
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
  const part = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', colors.bold(title), ...lines.map(line => `  ${printable(line)}`)]
  const status = inkOf(worker.status, colors)(worker.status)
  return [
    `${colors.bold(printable(worker.name))} is ${status}, for ${ageOf(worker.entered_status_at, nowMs)} now.`,
    ...part('Why', reasonsOf(worker, decisions)),
    ...part('Wanted', [wantedOf(worker, nowMs)]),
    ...part('Next', [nextOf(worker, plan, nowMs)]),
    ...part('What stands out', obstaclesOf(worker, nowMs)),
    ...part('What you can do', adviceFor(worker)),
    ...part('Decisions, newest first', decisionLines(decisions, nowMs)),
  ]
}

/** The last thing that was decided, and the numbers that it rests on. */
function reasonsOf(worker: Worker, decisions: readonly DecisionRecord[]): string[] {
  const [last] = decisions
  const moved = worker.state_history.at(-1)
  const move = moved === undefined ? [] : [`It became ${moved.to} because ${lowered(moved.because)}.`]
  if (last === undefined || last.because === moved?.because) return move
  const guards = last.guards.map(guard => {
    const mark = guard.passed ? 'ok' : 'no'
    return `  ${mark}  ${guard.name} is ${guard.value}, and ${guard.limit} is asked for`
  })
  return [...move, `${saidOf(last)}: ${last.because}.`, ...guards]
}

const saidOf = ({ action, service }: DecisionRecord): string =>
  action === 'nothing' ? 'Since then there is nothing to do' : `Then ${service} decided to ${wordsOf(action)}`

/** Sentences of others begin as they like; ours goes on. Names of things keep their capitals. */
const lowered = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text

const WORDS: Readonly<Record<string, string>> = { write: 'record', nothing: 'leave it', survey: 'visit' }
const wordsOf = (action: string): string => WORDS[action] ?? action.replaceAll('_', ' ')

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
  if (plan !== null) {
    const inMs = plan.due_at === null ? 0 : toMs(plan.due_at) - nowMs
    const when = inMs <= 0 ? 'now' : `in ${formatDuration(inMs)}`
    return `${wordsOf(plan.action)}, ${when}: ${plan.because}`
  }
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
    return [`lcm terminate worker ${name}    end it`, `lcm describe worker ${name}     see its boot and launch`]
  if (paused || (status === 'STOPPED' && desired_status === 'STOPPED'))
    return [`lcm start worker ${name}    run it again`]
  return []
}

const decisionLines = (decisions: readonly DecisionRecord[], nowMs: number): string[] =>
  decisions.map(({ at, action, because, outcome }) => {
    const result = outcome === '' || outcome === because ? '' : ` -> ${outcome}`
    return `${ageOf(at, nowMs).padEnd(8)}${wordsOf(action).padEnd(20)}${because}${result}`
  })
