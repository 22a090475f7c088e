import { toMs } from '../instant.ts'
import { isOver, isUp, type LabletSession } from '../session/lablet-session.ts'
import { FINAL_SAVE_MS, nextStep } from '../session/pipeline.ts'

const MINUTE_MS = 60_000

export interface SaveFacts {
  /** Whether the definition lets LCM save its labs. */
  readonly isEnabled: boolean
  /** 0 saves only on request and at the end. */
  readonly intervalMinutes: number
  /** Whether CML reports the lab as running. */
  readonly isLabUp: boolean
  readonly nowMs: number
}

export type SaveDecision =
  | { readonly kind: 'save'; readonly cause: 'request' | 'interval' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  | { readonly kind: 'none' }

const NONE: SaveDecision = { kind: 'none' }

/** Whether the lab of a session is saved now. The save at its end is a step of the teardown. */
export function decideSave(session: LabletSession, facts: SaveFacts): SaveDecision {
  const { isEnabled, intervalMinutes, isLabUp, nowMs } = facts
  if (!isEnabled || !isLabUp || !isUp(session.status) || isOver(session) || isStarting(session, nowMs)) return NONE
  if (session.save.requested_at !== null) return { kind: 'save', cause: 'request' }
  if (intervalMinutes === 0) return NONE
  const dueMs = nextSaveMs(session, intervalMinutes * MINUTE_MS)
  if (dueMs + FINAL_SAVE_MS >= toMs(session.timeslot.end)) return NONE
  return dueMs <= nowMs ? { kind: 'save', cause: 'interval' } : { kind: 'wait', afterMs: dueMs - nowMs }
}

/** Whether a pipeline is about to start the lab again. */
function isStarting({ pipeline }: LabletSession, nowMs: number): boolean {
  const next = pipeline === null ? null : nextStep(pipeline, nowMs)
  return next !== null && next.kind !== 'done' && next.kind !== 'failed'
}

/** One interval after the latest attempt, so that a failure is not repeated at once; the first save comes earlier. */
function nextSaveMs(session: LabletSession, intervalMs: number): number {
  const triedMs = session.save.tried_at === null ? Number.NEGATIVE_INFINITY : toMs(session.save.tried_at)
  const readyMs = toMs(readyAt(session))
  if (triedMs > readyMs) return triedMs + intervalMs
  return readyMs + (intervalMs * (1 + spreadOf(session.id))) / 2
}

const readyAt = ({ state_history, entered_status_at }: LabletSession) =>
  state_history.findLast(({ to }) => to === 'READY')?.at ?? entered_status_at

/** A number from 0 to 1 for each session, so that the labs of a class are not all saved in the same second (FNV-1a). */
function spreadOf(id: string): number {
  let hash = 0x811c9dc5
  for (const character of id) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return (hash >>> 0) / 2 ** 32
}

/** Whether the session that is being torn down was up until then, so that its lab holds work. */
export function endsWithSave({ state_history }: Pick<LabletSession, 'state_history'>): boolean {
  const last = state_history.findLast(({ from }) => from !== 'EXPIRED' && from !== 'STOPPING' && from !== 'STOPPED')
  return isUp(last?.from ?? null)
}

/**
 * The prompt of a configuration mode, a command that is not sent yet, a page of a long answer, or a question. An extraction would end
 * the first, run the second, and answer the last, such as `Proceed with reload? [confirm]`.
 */
const MID_COMMAND =
  /\(conf[^)]*\)\s?#|^[\w.@:~/-]{1,64}(?:\([^)]{1,64}\))?[#>$]\s*\S|-\s?more\s?-|\[(?:confirm|y(?:es)?\/no?)\]|\?\s*$|password:\s*$/i
/** What a device reports by itself appears below the line that its user types. */
const LOG_MESSAGE = /%[\w-]+-\d-\w+/

/** Whether a user works on a console that showed these lines a few seconds apart. */
export const isConsoleInUse = (before: string, after: string): boolean =>
  before !== after || MID_COMMAND.test(lastLine(after))

const lastLine = (shown: string): string =>
  shown.split(/[\r\n]+/).findLast(line => line.trim() !== '' && !LOG_MESSAGE.test(line)) ?? ''
