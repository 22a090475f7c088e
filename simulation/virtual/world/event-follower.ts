import type { Client } from '@lcm/client/client'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService } from '@lcm/runtime'
import type { VirtualTime } from '@lcm/testkit/virtual-time'

/** The latest state of every resource, received by events. */
export interface EventFollower {
  readonly workers: Map<string, Worker>
  readonly sessions: Map<string, LabletSession>
  readonly labs: Map<string, LabRecord>
  /** Number of change events received. */
  count(): number
  countEvent(): void
}

/** Handlers called before a received event is recorded. Versions in quick succession arrive as one event. */
export interface EventHandlers {
  worker?(worker: Worker, before: Worker | undefined): void
  session?(session: LabletSession, before: LabletSession | undefined): void
}

/** Puts every received status into the run's fingerprints. */
export const hashStatuses = (time: Pick<VirtualTime, 'behavior' | 'history'>): Required<EventHandlers> => {
  const note = (id: string, state: string, before: string | null) => {
    if (state === before) return
    time.behavior(`${id} ${state}`)
    time.history(id, state)
  }
  return {
    worker: (worker, before) => note(worker.id, workerState(worker), before ? workerState(before) : null),
    session: (session, before) => note(session.id, sessionState(session), before ? sessionState(before) : null),
  }
}
const workerState = ({ status, desired_status, license }: Worker): string =>
  `${status} ${desired_status} ${license.status}`
const sessionState = ({ status, desired_status, worker_id }: LabletSession): string =>
  `${status} ${desired_status} ${worker_id}`

export function eventFollower(): EventFollower {
  let count = 0
  return {
    workers: new Map(),
    sessions: new Map(),
    labs: new Map(),
    count: () => count,
    countEvent() {
      count += 1
    },
  }
}

/** Follows the event stream, as a console does. */
export const followAll = (
  client: Client,
  { workers, sessions, labs, countEvent }: EventFollower,
  count: readonly EventHandlers[],
): HostedService => ({
  name: 'follower',
  async run(signal) {
    for await (const { event } of client.events({ after: '0', signal })) {
      if ('version' in event) countEvent()
      if (event.type === 'worker.created' || event.type === 'worker.updated') {
        for (const each of count) each.worker?.(event.data, workers.get(event.id))
        workers.set(event.id, event.data)
      } else if (event.type === 'session.created' || event.type === 'session.updated') {
        for (const each of count) each.session?.(event.data, sessions.get(event.id))
        sessions.set(event.id, event.data)
      } else if (event.type === 'lab.created' || event.type === 'lab.updated') labs.set(event.id, event.data)
      else if (event.type === 'session.deleted') sessions.delete(event.id)
      else if (event.type === 'lab.deleted') labs.delete(event.id)
    }
  },
})
