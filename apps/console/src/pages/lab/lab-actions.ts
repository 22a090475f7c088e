import type { Client } from '@lcm/client/client'
import type { LabAction, LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Requests } from '../../state/request-tracker.ts'

export const ACTION_TEXTS: Readonly<Record<LabAction, { readonly label: string; readonly help: string }>> = {
  start: { label: 'Start', help: 'Start all nodes' },
  stop: { label: 'Stop', help: 'Stop all nodes; their data is kept' },
  wipe: { label: 'Wipe…', help: 'Delete the data of all nodes' },
  delete: { label: 'Delete…', help: 'Stop, wipe and remove the lab' },
}

/** `disabledReason` is the tooltip of a disabled action; null when it is enabled. */
export interface AvailableAction {
  readonly action: LabAction
  readonly disabledReason: string | null
}

const ACTIONS_BY_STATUS: Readonly<Record<LabStatus, readonly LabAction[]>> = {
  DEFINED: ['start', 'delete'],
  STARTING: ['stop', 'delete'],
  BOOTED: ['stop', 'delete'],
  STOPPING: ['stop', 'delete'],
  STOPPED: ['start', 'wipe', 'delete'],
  WIPED: ['start', 'delete'],
  DELETING: ['delete'],
  DELETED: [],
  ORPHANED: [],
  ERROR: ['stop', 'wipe', 'delete'],
}

/** A lab that a session uses can be changed only through that session. */
export function availableActions(lab: LabRecord, session: LabletSession | undefined): AvailableAction[] {
  const isUsed = session !== undefined && !isFinal(session.status)
  const barOf = (action: LabAction) =>
    isUsed ? 'A session uses this lab: cancel the session instead' : pendingReason(lab, action)
  return ACTIONS_BY_STATUS[lab.status].map(action => ({ action, disabledReason: barOf(action) }))
}

/** A pending action may wait for a stopped worker, so it can be replaced by another one. */
const pendingReason = ({ pending_action: pending }: LabRecord, action: LabAction): string | null =>
  pending?.action === action && pending.error === null ? `${action} was already requested` : null

/** Actions that lose data, or affect a session's lab, need a confirmation. */
export const needsConfirmation = (lab: LabRecord, action: LabAction): boolean =>
  action === 'wipe' || action === 'delete' || (action === 'stop' && lab.session_id !== null)

const TYPED_CHARS_MAX = 40
/** Words separated by single spaces: other white space could not be typed from sight. */
const TYPEABLE = /^[^\p{C}\p{Z}]+( [^\p{C}\p{Z}]+)*$/u

/** Text to type as confirmation: the title if it can be typed, else the id. */
export const typedName = ({ title, id }: LabRecord): string =>
  title.length <= TYPED_CHARS_MAX && TYPEABLE.test(title.trim()) ? title.trim() : id

const SENT = { start: 'startLab', stop: 'stopLab', wipe: 'wipeLab', delete: 'deleteLab' } as const

const sent = (client: Client, { id }: LabRecord, action: LabAction) =>
  client.call(SENT[action], { params: { id }, body: {} })

export const requestLabAction = (requests: Requests, lab: LabRecord, action: LabAction): Promise<boolean> =>
  requests.send({ kind: 'lab', id: lab.id, name: lab.title || lab.id }, action, client => sent(client, lab, action))

/** `5 BOOTED, 1 STOPPED`: nodes by state, most frequent first. Null when the nodes were not read. */
export function nodesText({ nodes }: LabRecord): string | null {
  const counts = new Map<string, number>()
  for (const { state } of nodes) counts.set(state, (counts.get(state) ?? 0) + 1)
  if (counts.size === 0) return null
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
}
