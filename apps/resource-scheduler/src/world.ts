import { isProblem } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import type { LabletDefinition } from '@lcm/domain/lablet/lablet-definition'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { readSettings } from '@lcm/service/settings-now'
import type { KnownDefinitions } from './known-definitions.ts'

/** Everything that one cycle rests on. */
export interface World {
  readonly sessions: readonly LabletSession[]
  readonly definitions: ReadonlyMap<string, LabletDefinition>
  /** Those that sessions are still on are among them when they are TERMINATED. */
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly settings: SettingValues
}

/** Whether a scheduler has anything to do with it. */
export const isOurs = ({ status }: LabletSession): boolean => status === 'PENDING' || status === 'SCHEDULED'

/**
 * Reads it, or rejects: a part is never taken for the whole. Sessions come before workers, so that whatever a ledger
 * holds is of a session that is on the list or over. Null when no session waits for anything.
 */
export async function readWorld(
  client: Client,
  definitions: KnownDefinitions,
  signal: AbortSignal,
): Promise<World | null> {
  const { items: sessions } = await readList(page => client.call('listSessions', { query: page, signal }))
  if (!sessions.some(isOurs)) return null
  const booked = sessions.map(({ definition }) => definition.id)
  const [workers, { items: templates }, settings, known] = await Promise.all([
    workersOf(client, sessions, signal),
    readList(page => client.call('listTemplates', { query: page, signal })),
    readSettings(client, signal),
    definitions.of(booked, signal),
  ])
  return { sessions, definitions: known, workers, templates, settings }
}

async function workersOf(
  client: Client,
  sessions: readonly LabletSession[],
  signal: AbortSignal,
): Promise<readonly Worker[]> {
  const { items } = await readList(page => client.call('listWorkers', { query: page, signal }))
  const listed = new Set(items.map(({ id }) => id))
  const held = sessions.filter(isOurs).flatMap(({ worker_id }) => (worker_id === null ? [] : [worker_id]))
  const missing = [...new Set(held)].filter(id => !listed.has(id))
  const found = await Promise.all(missing.map(id => workerById(client, id, signal)))
  return [...items, ...found.filter(worker => worker !== null)]
}

async function workerById(client: Client, id: string, signal: AbortSignal): Promise<Worker | null> {
  try {
    return await client.call('getWorker', { params: { id }, signal })
  } catch (error) {
    if (isProblem(error, 'not_found')) return null
    throw error
  }
}
