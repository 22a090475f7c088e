import type { CmlLab } from '@lcm/cloud/cml-labs'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toMs } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession, type SessionStatus } from '@lcm/domain/session/lablet-session'

const TITLE_CHARS_MAX = 64

/** Unique and stable over retries: it ends with the session id. */
export function labTitle(session: LabletSession, definition: LabletDefinition): string {
  const name = [...(definition.title || definition.name)].slice(0, TITLE_CHARS_MAX - session.id.length - 1)
  return `${name.join('').trim()} ${session.id}`
}

/** How long after the end of its session a requested lab may still appear. */
const LATE_MS = 15 * 60_000
/** Clocks of servers differ. */
const SKEW_MS = 2 * 60_000

const SESSION_IN_TITLE = / (ls-[0-9a-z-]+)$/

/** The session id at the end of a lab title. */
export const sessionInTitle = (title: string): string | null => SESSION_IN_TITLE.exec(title)?.[1] ?? null

const enteredAt = (history: LabletSession['state_history'], status: SessionStatus): string | undefined =>
  history.find(({ to }) => to === status)?.at

/** A lab with the title of a session is ours if it is older than the last READY: users can't copy it before. */
export function isOurs(lab: CmlLab, session: LabletSession, ourName: string): boolean {
  if (sessionInTitle(lab.title) !== session.id || lab.owner !== ourName) return false
  const { state_history } = session
  const lastStart = state_history.slice(state_history.findLastIndex(({ to }) => to === 'INSTANTIATING'))
  const ready = enteredAt(lastStart, 'READY')
  return ready === undefined || lab.created === null || toMs(lab.created) <= toMs(ready)
}

/**
 * Whether a lab is left from an import whose response was lost, and appeared only after the teardown of its session, or after it
 * was moved. Labs that ever ran don't count.
 */
export function isStray(
  lab: CmlLab,
  { record, session, ourName }: { record: LabRecord; session: LabletSession; ourName: string },
): boolean {
  if (!isOurs(lab, session, ourName) || lab.state !== 'DEFINED_ON_CORE' || lab.created === null) return false
  if (record.source !== 'DISCOVERY' || record.session_id !== null || record.pending_action !== null) return false
  const began = enteredAt(session.state_history, 'INSTANTIATING')
  const hasLeft = isFinal(session.status) || session.worker_id !== record.worker_id
  if (!hasLeft || began === undefined) return false
  const createdMs = toMs(lab.created)
  return createdMs >= toMs(began) - SKEW_MS && createdMs <= toMs(session.entered_status_at) + LATE_MS
}
