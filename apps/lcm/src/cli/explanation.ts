import type { DecisionRecord } from '@lcm/domain/decision'
import { PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import { actionWords, isSkippedPause } from '@lcm/domain/text/decision-words'
import type { Move } from './terminal/description.ts'
import { ageOf } from './worker/worker-view.ts'

/** For whom it is told: everything is for who asks for it, the rest want to go back to bed. */
export interface Reader {
  readonly nowMs: number
  readonly isVerbose: boolean
}

/** The last thing that was decided, and the numbers that it rests on. */
export function reasonsOf(history: readonly Move[], decisions: readonly DecisionRecord[], reader: Reader): string[] {
  const [last] = decisions
  const moved = history.at(-1)
  const move = moved === undefined ? [] : [moveText(moved)]
  return last === undefined || last.because === moved?.because ? move : [...move, ...saidLines(last, reader)]
}

export const moveText = ({ to, because }: Move): string => sentence(`It became ${to} because ${lowered(because)}`)

/** A decision in a sentence, with what stood in its way below it. */
export const saidLines = (decision: DecisionRecord, { nowMs, isVerbose }: Reader): string[] => [
  sentence(`${saidOf(decision, nowMs)}: ${decision.because}`),
  ...guardLines(decision, isVerbose),
]

/** Others end their words as they like; ours end once. */
export const sentence = (text: string): string => `${text.replace(/[\s.]+$/, '')}.`

/** How a number is compared with its limit, where it need not be the same. */
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
      const asked = `${COMPARED[name] ?? ''}${limit} is asked for`
      return `  ${passed ? 'ok' : 'no'}  ${name.replaceAll('_', ' ')}: ${shown}, ${asked}`
    })

/** Steps have names of their own, which are no verbs. */
const STEPS: ReadonlySet<string> = new Set(
  Object.values(PIPELINE_STEPS).flatMap(steps => steps.map(({ name }) => `session ${name}`)),
)

/** With its age: the newest decision may be hours old. */
function saidOf({ action, service, resource, at }: DecisionRecord, nowMs: number): string {
  const age = ageOf(at, nowMs)
  if (action === 'nothing') return `${service} left it as it is ${age} ago`
  if (action === 'write') return 'Since then'
  if (isSkippedPause(action)) return 'It was not paused yet'
  const [kind] = resource.split(':')
  return STEPS.has(`${kind} ${action}`)
    ? `${service} was at the step ${action} ${age} ago`
    : `${service} decided to ${actionWords(action)} ${age} ago`
}

/** Sentences of others begin as they like; ours goes on. Names of things keep their capitals. */
const lowered = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text

/** What fits beside the rest on a line. A cloud's own words are longer, and the same each time. */
const BECAUSE_MAX = 110

export const decisionLines = (decisions: readonly DecisionRecord[], nowMs: number, isVerbose = false): string[] =>
  decisions
    .filter((decision, index) => isVerbose || !isEcho(decision, decisions[index + 1]))
    .map(({ at, action, because, outcome }) => {
      const isSaid = outcome === '' || outcome.includes(because) || because.includes(outcome)
      const said = `${because}${isSaid ? '' : ` -> ${outcome}`}`
      return `${ageOf(at, nowMs).padEnd(8)}${actionWords(action).padEnd(20)}${isVerbose ? said : shortened(said)}`
    })

/** How many to read so that as many are shown: of two in a row one at most is an echo, and the last needs the one before it. */
export const readingFor = (shown: number, isVerbose: boolean): number => (isVerbose ? shown : 2 * shown + 1)

/** The newest of them, as far as so many of them are shown. */
export function newestShown(decisions: readonly DecisionRecord[], count: number, isVerbose: boolean): DecisionRecord[] {
  let left = count
  const end = decisions.findIndex((decision, index) => {
    if (isVerbose || !isEcho(decision, decisions[index + 1])) left -= 1
    return left === 0
  })
  return decisions.slice(0, end === -1 ? decisions.length : end + 1)
}

/** To wait for what was noted just before is nothing new. */
const isEcho = ({ action, because }: DecisionRecord, before: DecisionRecord | undefined): boolean =>
  action === 'wait' && before?.action === 'write' && before.because === because

const shortened = (text: string): string =>
  text.length <= BECAUSE_MAX ? text : `${text.slice(0, BECAUSE_MAX - 1).trimEnd()}…`
