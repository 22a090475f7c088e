import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { type Requests, sendOrReject } from '../../../state/request-tracker.ts'

const targetOf = ({ id, definition }: LabletSession) =>
  ({ kind: 'session', id, name: `the session of ${definition.name}` }) as const

export const requestCancel = (requests: Requests, session: LabletSession): Promise<boolean> =>
  requests.send(targetOf(session), 'cancel', client => client.call('cancelSession', { params: { id: session.id } }))

/** Rejects when refused: the form shows the reason. */
export const requestExtend = (requests: Requests, session: LabletSession, minutes: number): Promise<void> =>
  sendOrReject(requests, targetOf(session), 'extend', client =>
    client.call('extendSession', { params: { id: session.id }, body: { minutes } }),
  )

/** For actions without a form. */
export const requestAction = (
  requests: Requests,
  session: LabletSession,
  verb: 'retry' | 'requeue' | 'move' | 'save',
): Promise<boolean> =>
  requests.send(targetOf(session), verb, client =>
    client.call(`${verb}Session`, { params: { id: session.id }, body: {} }),
  )
