import { type Client, unlessMissing } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type FreeSeats, freeSeatsOf } from '@lcm/domain/license/license-pool'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { readSettings } from '../kit/settings-cache.ts'

/** Input of every cycle. */
export interface Demand {
  readonly sessions: readonly LabletSession[]
  /** Includes all workers with placed sessions, also TERMINATED ones. */
  readonly workers: readonly Worker[]
  readonly settings: SettingValues
}

/** Input of placement. */
export interface Supply {
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly licenses: FreeSeats
}

/** Above this, one list costs less than single reads. */
const ASKED_ONE_BY_ONE_MAX = 25

/** The scheduler handles sessions that have no lab yet. */
export const isSchedulable = ({ status }: LabletSession): boolean => status === 'PENDING' || status === 'SCHEDULED'
/** It moves those that are up and whose worker is lost. */
const isConcern = (session: LabletSession): boolean => isSchedulable(session) || isUp(session.status)

/** Rejects rather than return a part. Null when no session is waiting or placed. */
export async function readDemand(client: Client, signal: AbortSignal): Promise<Demand | null> {
  const { items: sessions } = await readList(page => client.call('listSessions', { query: page, signal }))
  if (!sessions.some(isConcern)) return null
  const [hosts, settings] = await Promise.all([hostsOf(client, sessions, signal), readSettings(client, signal)])
  return { sessions, workers: hosts, settings }
}

/**
 * Rejects rather than return a part. Only for sessions that need a placement: in a large fleet it is most of the cost. Comes after the
 * sessions, so that every reservation in a ledger belongs to a session that was read or is over.
 */
export async function readSupply(client: Client, signal: AbortSignal): Promise<Supply> {
  const [workers, { items: templates }, { items: pools }] = await Promise.all([
    allWorkers(client, signal),
    readList(page => client.call('listTemplates', { query: page, signal })),
    readList(page => client.call('listLicensePools', { query: page, signal })),
  ])
  return { workers, templates, licenses: freeSeatsOf(pools) }
}

async function hostsOf(
  client: Client,
  sessions: readonly LabletSession[],
  signal: AbortSignal,
): Promise<readonly Worker[]> {
  const hosts = sessions.filter(isConcern).flatMap(({ worker_id }) => (worker_id === null ? [] : [worker_id]))
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
  /** Definitions that exist among these ids. */
  of(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, LabletDefinition>>
}

/** A booked definition never changes, so a list is read only for a new id. Topologies are left out. */
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
