import { unlessMissing } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { readSettings } from '../kit/settings-cache.ts'

/** What every cycle rests on. */
export interface Demand {
  readonly sessions: readonly LabletSession[]
  /** Those that sessions have a place on and have not begun are among them, also when they are TERMINATED. */
  readonly workers: readonly Worker[]
  readonly settings: SettingValues
}

/** What places are found in. */
export interface Supply {
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly definitions: ReadonlyMap<string, LabletDefinition>
}

/** From here on a list of all costs no more than to ask for each. */
const ASKED_ONE_BY_ONE_MAX = 25

/** Whether a scheduler has anything to do with it. */
export const isSchedulable = ({ status }: LabletSession): boolean => status === 'PENDING' || status === 'SCHEDULED'

/** Reads them, or rejects: a part is never taken for the whole. Null when no session waits for anything. */
export async function readDemand(client: Client, signal: AbortSignal): Promise<Demand | null> {
  const { items: sessions } = await readList(page => client.call('listSessions', { query: page, signal }))
  if (!sessions.some(isSchedulable)) return null
  const [hosts, settings] = await Promise.all([hostsOf(client, sessions, signal), readSettings(client, signal)])
  return { sessions, workers: hosts, settings }
}

/**
 * Reads it, or rejects. Only for sessions that need a place: in a large fleet it is most of what a cycle costs. Comes after the
 * sessions, so that whatever a ledger holds is of a session that was read or is over.
 */
export async function readSupply(
  client: Client,
  definitions: DefinitionCache,
  { sessions, signal }: { sessions: readonly LabletSession[]; signal: AbortSignal },
): Promise<Supply> {
  const booked = sessions.map(({ definition }) => definition.id)
  const [workers, { items: templates }, known] = await Promise.all([
    allWorkers(client, signal),
    readList(page => client.call('listTemplates', { query: page, signal })),
    definitions.of(booked, signal),
  ])
  return { workers, templates, definitions: known }
}

async function hostsOf(
  client: Client,
  sessions: readonly LabletSession[],
  signal: AbortSignal,
): Promise<readonly Worker[]> {
  const hosts = sessions.filter(isSchedulable).flatMap(({ worker_id }) => (worker_id === null ? [] : [worker_id]))
  const ids = [...new Set(hosts)]
  const listed = ids.length > ASKED_ONE_BY_ONE_MAX ? await allWorkers(client, signal) : []
  const known = new Set(listed.map(({ id }) => id))
  const found = await Promise.all(ids.filter(id => !known.has(id)).map(id => workerById(client, id, signal)))
  return [...listed, ...found.filter(worker => worker !== null)]
}

const allWorkers = async (client: Client, signal: AbortSignal): Promise<readonly Worker[]> =>
  (await readList(page => client.call('listWorkers', { query: page, signal }))).items

const workerById = (client: Client, id: string, signal: AbortSignal): Promise<Worker | null> =>
  unlessMissing(client.call('getWorker', { params: { id }, signal }))

export interface DefinitionCache {
  /** Those of these ids that exist. Rejects when it could not be found out. */
  of(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, LabletDefinition>>
}

/** What was booked once never changes, so that a list is read only when one is new. Topologies are left out. */
export function definitionCache(client: Client): DefinitionCache {
  let known: ReadonlyMap<string, LabletDefinition> = new Map()
  return {
    async of(ids, signal) {
      if (ids.some(id => !known.has(id))) {
        const wanted = new Set(ids)
        const { items } = await readList(page => client.call('listDefinitions', { query: page, signal }))
        const found = items.filter(({ id, status }) => wanted.has(id) && status !== 'PENDING_SYNC')
        known = new Map(found.map(each => [each.id, { ...each, topology: null }]))
      }
      return known
    },
  }
}
