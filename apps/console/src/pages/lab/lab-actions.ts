import type { Client } from '@lcm/client/client'
import type { LabAction, LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Requests } from '../../state/requests.ts'

export const ACTION_TEXTS: Readonly<Record<LabAction, { readonly label: string; readonly help: string }>> = {
  start: { label: 'Start', help: 'Starts all of its nodes' },
  stop: { label: 'Stop', help: 'Stops all of its nodes; what they hold stays' },
  wipe: { label: 'Wipe…', help: 'Forgets what its nodes hold' },
  delete: { label: 'Delete…', help: 'Stops, wipes and removes it' },
}

/** `disabledReason` says why something that belongs there can't be asked; null when it can. */
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

/** A lab that somebody's session uses is that session's: it is dealt with there. */
export function availableActions(lab: LabRecord, session: LabletSession | undefined): AvailableAction[] {
  const isUsed = session !== undefined && !isFinal(session.status)
  const barOf = (action: LabAction) => (isUsed ? 'A session uses it: cancel that instead' : pendingReason(lab, action))
  return ACTIONS_BY_STATUS[lab.status].map(action => ({ action, disabledReason: barOf(action) }))
}

/** What is asked may wait for a worker that is stopped: something else may be asked in its place. */
const pendingReason = ({ pending_action: asked }: LabRecord, action: LabAction): string | null =>
  asked?.action === action && asked.error === null ? `It is asked to ${action} already` : null

/** Whether it takes more than a press: what is lost, or was somebody's, is lost on purpose only. */
export const needsConfirmation = (lab: LabRecord, action: LabAction): boolean =>
  action === 'wipe' || action === 'delete' || (action === 'stop' && lab.session_id !== null)

const TYPED_CHARS_MAX = 40
/** Words with one plain space between them: of more, and of what is not seen, nobody could tell what to type. */
const TYPEABLE = /^[^\p{C}\p{Z}]+( [^\p{C}\p{Z}]+)*$/u

/** What has to be typed: its title, unless that can't be expected of anybody. */
export const typedName = ({ title, id }: LabRecord): string =>
  title.length <= TYPED_CHARS_MAX && TYPEABLE.test(title.trim()) ? title.trim() : id

const SENT = { start: 'startLab', stop: 'stopLab', wipe: 'wipeLab', delete: 'deleteLab' } as const

const sent = (client: Client, { id }: LabRecord, action: LabAction) =>
  client.call(SENT[action], { params: { id }, body: {} })

export const requestLabAction = (requests: Requests, lab: LabRecord, action: LabAction): Promise<boolean> =>
  requests.send({ kind: 'lab', id: lab.id, name: lab.title || lab.id }, action, client => sent(client, lab, action))

/** `5 BOOTED, 1 STOPPED`: what its nodes do, most first. Null when nobody looked at them one by one. */
export function nodesText({ nodes }: LabRecord): string | null {
  const counts = new Map<string, number>()
  for (const { state } of nodes) counts.set(state, (counts.get(state) ?? 0) + 1)
  if (counts.size === 0) return null
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
}
