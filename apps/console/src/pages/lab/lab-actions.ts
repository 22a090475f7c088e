import type { Client } from '@lcm/client/client'
import type { LabAction, LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Asks } from '../../state/requests.ts'

export const ACT_WORDS: Readonly<Record<LabAction, { readonly label: string; readonly help: string }>> = {
  start: { label: 'Start', help: 'Starts all of its nodes' },
  stop: { label: 'Stop', help: 'Stops all of its nodes; what they hold stays' },
  wipe: { label: 'Wipe…', help: 'Forgets what its nodes hold' },
  delete: { label: 'Delete…', help: 'Stops, wipes and removes it' },
}

/** `bar` says why something that belongs there can't be asked; null when it can. */
export interface Offer {
  readonly act: LabAction
  readonly bar: string | null
}

const ACTS_BY_STATUS: Readonly<Record<LabStatus, readonly LabAction[]>> = {
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
export function offersOf(lab: LabRecord, session: LabletSession | undefined): Offer[] {
  const isUsed = session !== undefined && !isFinal(session.status)
  const barOf = (act: LabAction) => (isUsed ? 'A session uses it: cancel that instead' : askedBar(lab, act))
  return ACTS_BY_STATUS[lab.status].map(act => ({ act, bar: barOf(act) }))
}

/** What is asked may wait for a worker that is stopped: something else may be asked in its place. */
const askedBar = ({ pending_action: asked }: LabRecord, act: LabAction): string | null =>
  asked?.action === act && asked.error === null ? `It is asked to ${act} already` : null

/** Whether it takes more than a press: what is lost, or was somebody's, is lost on purpose only. */
export const needsConfirmation = (lab: LabRecord, act: LabAction): boolean =>
  act === 'wipe' || act === 'delete' || (act === 'stop' && lab.session_id !== null)

const TYPED_CHARS_MAX = 40
/** Words with one plain space between them: of more, and of what is not seen, nobody could tell what to type. */
const TYPEABLE = /^[^\p{C}\p{Z}]+( [^\p{C}\p{Z}]+)*$/u

/** What has to be typed: its title, unless that can't be expected of anybody. */
export const typedName = ({ title, id }: LabRecord): string =>
  title.length <= TYPED_CHARS_MAX && TYPEABLE.test(title.trim()) ? title.trim() : id

const SENT = { start: 'startLab', stop: 'stopLab', wipe: 'wipeLab', delete: 'deleteLab' } as const

const sent = (client: Client, { id }: LabRecord, act: LabAction) => client.call(SENT[act], { params: { id }, body: {} })

export const askLab = (asks: Asks, lab: LabRecord, act: LabAction): Promise<boolean> =>
  asks.ask({ kind: 'lab', id: lab.id, name: lab.title || lab.id }, act, client => sent(client, lab, act))

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
