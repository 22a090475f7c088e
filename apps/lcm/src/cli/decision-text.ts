import { healthOfAction } from '@lcm/domain/health'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import { sameReason } from '@lcm/domain/reason'
import { PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import { actionWords, isSkippedPause } from '@lcm/domain/text/action-words'
import type { Move } from './terminal/description-sections.ts'
import { ageOf } from './worker/worker-view.ts'

/** The current time, and whether to show every detail. */
export interface Reader {
  readonly nowMs: number
  readonly isVerbose: boolean
}

/** The last transition, and the last decision with its failed guards. */
export function reasonsOf(history: readonly Move[], decisions: readonly DecisionRecord[], reader: Reader): string[] {
  const [last] = decisions
  const moved = history.at(-1)
  const move = moved === undefined ? [] : [moveText(moved)]
  return last === undefined || sameReason(last.because, moved?.because ?? null)
    ? move
    : [...move, ...decisionText(last, reader)]
}

export const moveText = ({ to, because }: Move): string => sentence(`It became ${to} because ${because.message}`)

/** One decision as a sentence, followed by its failed guards. */
export const decisionText = (decision: DecisionRecord, { nowMs, isVerbose }: Reader): string[] => [
  sentence(`${introductionOf(decision, nowMs)}: ${decision.because.message}`),
  ...guardLines(decision, isVerbose),
]

/** Ends a text with exactly one period. */
export const sentence = (text: string): string => `${text.replace(/[\s.]+$/, '')}.`

/** Comparison of a guard value with its limit; equality if absent. */
const COMPARED: Readonly<Record<string, string>> = {
  idle_seconds: 'at least ',
  seconds_since_scale_down: 'at least ',
  ready_answers: 'at least ',
  running_workers: 'more than ',
}

export const guardLines = ({ guards }: DecisionRecord, isVerbose: boolean): string[] =>
  guards
    .filter(({ passed }) => isVerbose || !passed)
    .map(({ name, value, limit, passed }) => {
      const shown = value === Number.MAX_SAFE_INTEGER ? 'never' : value
      const required = `required: ${COMPARED[name] ?? ''}${limit}`
      return `  ${passed ? 'ok' : 'no'}  ${name.replaceAll('_', ' ')}: ${shown} (${required})`
    })

/** Pipeline steps, whose names are not verbs. */
const STEPS: ReadonlySet<string> = new Set(
  Object.values(PIPELINE_STEPS).flatMap(steps => steps.map(({ name }) => `session ${name}`)),
)

/** Introduces a decision with its age, because the newest one may be hours old. */
function introductionOf({ action, service, resource, at }: DecisionRecord, nowMs: number): string {
  const age = ageOf(at, nowMs)
  if (action === 'nothing') return `${service} made no change ${age} ago`
  if (action === 'write') return 'Since then'
  if (isSkippedPause(action)) return 'It was not paused yet'
  if (healthOfAction(action) !== null) return `It ${actionWords(action)} ${age} ago`
  const [kind] = resource.split(':')
  return STEPS.has(`${kind} ${action}`)
    ? `${service} performed step ${action} ${age} ago`
    : `${service} decided to ${actionWords(action)} ${age} ago`
}

/** Longer reasons, such as AWS error messages, are shortened to fit on one line. */
const BECAUSE_MAX = 110

export const decisionLines = (decisions: readonly DecisionRecord[], nowMs: number, isVerbose = false): string[] =>
  decisions
    .filter((decision, index) => isVerbose || !isRoutine(decision, decisions[index + 1]))
    .map(({ at, action, because, outcome }) => {
      const text = `${because.message}${outcome === '' ? '' : ` -> ${outcome}`}`
      return `${ageOf(at, nowMs).padEnd(8)}${actionWords(action).padEnd(20)}${isVerbose ? text : shortened(text)}`
    })

/** Number of decisions to read, so that `shown` remain after repeated ones are dropped. */
export const readingFor = (shown: number, isVerbose: boolean): number => (isVerbose ? shown : 2 * shown + 1)

/** The newest decisions, until `count` of them are shown. */
export function newestShown(decisions: readonly DecisionRecord[], count: number, isVerbose: boolean): DecisionRecord[] {
  let left = count
  const end = decisions.findIndex((decision, index) => {
    if (isVerbose || !isRoutine(decision, decisions[index + 1])) left -= 1
    return left === 0
  })
  return decisions.slice(0, end === -1 ? decisions.length : end + 1)
}

/** The idle policy decides so about every worker in use, which explains nothing. */
export const IN_USE = 'skipped_not_idle'

/** Whether a decision explains nothing: a worker is in use, or a wait repeats the reason of the write before it. */
const isRoutine = ({ action, because }: DecisionRecord, before: DecisionRecord | undefined): boolean =>
  action === IN_USE || (action === 'wait' && before?.action === 'write' && sameReason(before.because, because))

const shortened = (text: string): string =>
  text.length <= BECAUSE_MAX ? text : `${text.slice(0, BECAUSE_MAX - 1).trimEnd()}…`
