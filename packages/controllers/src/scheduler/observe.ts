import { type Client, unlessMissing } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { SettingValues } from '@lcm/domain/fleet/settings'
import { type FreeSeats, freeSeatsOf, NO_POOLS } from '@lcm/domain/license/license-pool'
import type { Plan } from '@lcm/domain/plan/plan'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { readSettings } from '../kit/settings-cache.ts'

/** Input of every cycle. */
export interface Demand {
  readonly sessions: readonly LabletSession[]
  readonly settings: SettingValues
}

export interface Supply {
  readonly workers: readonly Worker[]
  readonly templates: readonly WorkerTemplate[]
  readonly licenses: FreeSeats
}

/** The scheduler handles sessions that have no lab yet. */
export const isSchedulable = ({ status }: LabletSession): boolean => status === 'PENDING' || status === 'SCHEDULED'
/** It moves those that are up and whose worker is lost. */
const isConcern = (session: LabletSession): boolean => isSchedulable(session) || isUp(session.status)

/** Rejects rather than return a part. */
export async function readDemand(client: Client, signal: AbortSignal): Promise<Demand> {
  const { items: sessions } = await readList(page => client.call('listSessions', { query: page, signal }))
  return { sessions, settings: await readSettings(client, signal) }
}

/**
 * All workers and templates; without sessions to place only the workers that run, because in a large fleet the others are most of
 * the cost. Rejects rather than return a part. Comes after the sessions, so that every reservation in a ledger belongs to a session
 * that was read or is over.
 */
export async function readSupply(
  client: Client,
  { hasDemand, signal }: { hasDemand: boolean; signal: AbortSignal },
): Promise<Supply> {
  if (!hasDemand)
    return {
      workers: await workersIn(client, { desired_status: 'RUNNING' }, signal),
      templates: [],
      licenses: NO_POOLS,
    }
  const [workers, { items: templates }, { items: pools }] = await Promise.all([
    workersIn(client, {}, signal),
    readList(page => client.call('listTemplates', { query: page, signal })),
    readList(page => client.call('listLicensePools', { query: page, signal })),
  ])
  return { workers, templates, licenses: freeSeatsOf(pools) }
}

/** The workers with placed sessions, also TERMINATED ones, of which some are known. */
export async function readHosts(
  client: Client,
  { sessions, workers }: { sessions: readonly LabletSession[]; workers: readonly Worker[] },
  signal: AbortSignal,
): Promise<readonly Worker[]> {
  const hosts = sessions.filter(isConcern).flatMap(({ worker_id }) => (worker_id === null ? [] : [worker_id]))
  const known = new Set(workers.map(({ id }) => id))
  const missing = [...new Set(hosts)].filter(id => !known.has(id))
  const found = await Promise.all(missing.map(id => workerById(client, id, signal)))
  return [...workers, ...found.filter(worker => worker !== null)]
}

/** The plan that an earlier leader stored. What it has for the next minutes is kept. */
export const readStoredPlan = (client: Client, signal: AbortSignal): Promise<Plan> => client.call('getPlan', { signal })

const workersIn = async (
  client: Client,
  where: { desired_status?: 'RUNNING' },
  signal: AbortSignal,
): Promise<readonly Worker[]> =>
  (await readList(page => client.call('listWorkers', { query: { ...page, ...where }, signal }))).items

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
