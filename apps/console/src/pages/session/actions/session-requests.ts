import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { type Asks, askOrReject } from '../../../state/requests.ts'

const subjectOf = ({ id, definition }: LabletSession) =>
  ({ kind: 'session', id, name: `the session of ${definition.name}` }) as const

export const askCancel = (asks: Asks, session: LabletSession): Promise<boolean> =>
  asks.ask(subjectOf(session), 'cancel', client => client.call('cancelSession', { params: { id: session.id } }))

/** Asked by a form: rejects when it is refused. */
export const askExtend = (asks: Asks, session: LabletSession, minutes: number): Promise<void> =>
  askOrReject(asks, subjectOf(session), 'extend', client =>
    client.call('extendSession', { params: { id: session.id }, body: { minutes } }),
  )

/** Those that need nothing more to be said. */
export const askAtOnce = (asks: Asks, session: LabletSession, verb: 'retry' | 'requeue'): Promise<boolean> =>
  asks.ask(subjectOf(session), verb, client => client.call(`${verb}Session`, { params: { id: session.id }, body: {} }))
