import type { DecisionRecord } from '@lcm/domain/decision'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toMs } from '@lcm/domain/instant'
import { PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import type { Move } from './description.ts'
import { formatDuration } from './duration.ts'
import { ageOf } from './worker-view.ts'

/** The last thing that was decided, and the numbers that it rests on. */
export function reasonsOf(history: readonly Move[], decisions: readonly DecisionRecord[]): string[] {
  const [last] = decisions
  const moved = history.at(-1)
  const move = moved === undefined ? [] : [`It became ${moved.to} because ${lowered(moved.because)}.`]
  if (last === undefined || last.because === moved?.because) return move
  const guards = last.guards.map(guard => {
    const mark = guard.passed ? 'ok' : 'no'
    return `  ${mark}  ${guard.name} is ${guard.value}, and ${guard.limit} is asked for`
  })
  return [...move, `${saidOf(last)}: ${last.because}.`, ...guards]
}

/** Steps have names of their own, which are no verbs. */
const STEPS: ReadonlySet<string> = new Set(
  Object.values(PIPELINE_STEPS).flatMap(steps => steps.map(({ name }) => `session ${name}`)),
)

function saidOf({ action, service, resource }: DecisionRecord): string {
  if (action === 'nothing') return 'Since then there is nothing to do'
  const [kind] = resource.split(':')
  return STEPS.has(`${kind} ${action}`)
    ? `Then ${service} was at the step ${action}`
    : `Then ${service} decided to ${wordsOf(action)}`
}

/** Sentences of others begin as they like; ours goes on. Names of things keep their capitals. */
const lowered = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text

const WORDS: Readonly<Record<string, string>> = { write: 'record', nothing: 'leave it', survey: 'visit' }
const wordsOf = (action: string): string => WORDS[action] ?? action.replaceAll('_', ' ')

/** What a controller is about to do, and when. */
export function plannedText(plan: PlannedAction, nowMs: number): string {
  const inMs = plan.due_at === null ? 0 : toMs(plan.due_at) - nowMs
  const when = inMs <= 0 ? 'now' : `in ${formatDuration(inMs)}`
  return `${wordsOf(plan.action)}, ${when}: ${plan.because}`
}

export const decisionLines = (decisions: readonly DecisionRecord[], nowMs: number): string[] =>
  decisions.map(({ at, action, because, outcome }) => {
    const result = outcome === '' || outcome === because ? '' : ` -> ${outcome}`
    return `${ageOf(at, nowMs).padEnd(8)}${wordsOf(action).padEnd(20)}${because}${result}`
  })
