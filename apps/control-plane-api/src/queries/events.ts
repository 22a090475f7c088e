import { type EventEnvelope, HEARTBEAT_MS, writeSse } from '@lcm/contract/events'
import { toInstant } from '@lcm/domain/instant'
import type { Change } from '@lcm/store/store'
import type { Api } from '../api.ts'
import { followChanges } from '../follow-changes.ts'

/** The stream of all changes after a position, or from now on. It begins with a heartbeat, so that clients know it is open. */
export async function* eventStream(api: Api, after: string | null, signal: AbortSignal): AsyncGenerator<string> {
  const { changes } = api.store
  const from = after ?? (await changes.position())
  yield signalEvent(api, 'heartbeat')
  for await (const followed of followChanges(changes, from, { clock: api.clock, idleMs: HEARTBEAT_MS, signal })) {
    if (followed.kind === 'reset') yield signalEvent(api, 'reset')
    else if (followed.kind === 'idle') yield signalEvent(api, 'heartbeat')
    else {
      const event = await eventOf(api, followed.change)
      if (event) yield writeSse({ id: followed.change.position, data: JSON.stringify(event) })
    }
  }
}

function signalEvent(api: Api, type: 'heartbeat' | 'reset'): string {
  const event: EventEnvelope = { type, at: toInstant(api.clock.now()) }
  return writeSse({ id: null, data: JSON.stringify(event) })
}

/** The document may be newer than the change that led to it, never older. Null when a later change will tell. */
async function eventOf(api: Api, change: Change): Promise<EventEnvelope | null> {
  switch (change.kind) {
    case 'worker': {
      if (change.deleted) return { type: 'worker.deleted', ...deleted(api, change) }
      const data = await api.workers.get(change.id)
      return data && { type: data.version === 1 ? 'worker.created' : 'worker.updated', ...about(data), data }
    }
    case 'template': {
      if (change.deleted) return { type: 'template.deleted', ...deleted(api, change) }
      const data = await api.templates.get(change.id)
      return data && { type: data.version === 1 ? 'template.created' : 'template.updated', ...about(data), data }
    }
    default:
      return null
  }
}

const about = (resource: { id: string; version: number; updated_at: string }) => ({
  id: resource.id,
  version: resource.version,
  at: resource.updated_at,
})
const deleted = (api: Api, { id, version }: Change) => ({ id, version, at: toInstant(api.clock.now()), data: null })
