import type { Client } from '@lcm/client/client'
import { pagesOf } from '@lcm/client/list-pages'
import { CHANGE_KEYS } from '@lcm/contract/resource-kinds'
import type { AnswerOf, BodyInput } from '@lcm/contract/routes'
import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import {
  type Election,
  type Logger,
  type Meter,
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationResult,
  success,
  watchTriggeredHostedService,
} from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { fencedWrite } from '../../kit/fenced-write.ts'
import { fetchDefinition } from '../api-calls.ts'
import type { LabletControllerConfig } from '../config.ts'
import type { LabletCounters } from '../report.ts'
import { readPackage } from './content-package.ts'
import { ContentError, type ContentSources } from './content-sources.ts'

export interface ContentSyncParts {
  readonly client: Client
  readonly changeKeys: ChangeKeys
  readonly election: Election
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  readonly config: LabletControllerConfig
  readonly counters: LabletCounters
  readonly sources: ContentSources
}

type Listed = AnswerOf<'listDefinitions'>['items'][number]
type Synced = Pick<LabletDefinition, 'id' | 'source' | 'sync'>
type SyncResult = BodyInput<'recordSync'>['result']

const DEFINITION_KEYS = CHANGE_KEYS.definitions
/** Packages may be large, so few are fetched at once. */
const AT_ONCE_MAX = 2

/** Seeds: ContentSyncService. Fetches content on demand, once per request. */
export function contentSync(parts: ContentSyncParts): Reconciliation {
  const { client, changeKeys, clock, logger, meter, config } = parts
  return watchTriggeredHostedService<Listed | LabletDefinition, ChangeHint>(
    {
      listResources: signal => pagesOf(page => client.call('listDefinitions', { query: page, signal })),
      keyOf: ({ id }) => id,
      fetchResource: (id, signal) => fetchDefinition(client, id, signal),
      needsAttention: ({ sync }) => sync.status === 'requested',
      reconcile: (definition, context) => reconcile(parts, definition, context),
      watchSource: prefix => changeKeys.source(prefix),
      parseWatchKey: key => (key.startsWith(DEFINITION_KEYS) ? key.slice(DEFINITION_KEYS.length) : null),
    },
    {
      serviceName: 'content-sync',
      metricPrefix: 'lablet_controller_content_sync',
      intervalMs: config.contentSyncIntervalMs,
      pollingEnabled: config.pollingEnabled,
      maxConcurrent: AT_ONCE_MAX,
    },
    { prefix: DEFINITION_KEYS },
    { clock, logger, meter },
  )
}

async function reconcile(
  parts: ContentSyncParts,
  { id, source, sync }: Synced,
  { epoch, signal }: ReconcileContext<unknown>,
): Promise<ReconciliationResult> {
  if (sync.status !== 'requested') return success('nothing is asked for')
  const result = await fetched(parts.sources, source, signal)
  // The definition may be edited meanwhile, so the result names the request that it answers.
  const body = { source, requested_at: sync.at, result }
  const call = { params: { id }, body, epoch, signal }
  await fencedWrite(parts.election, () => parts.client.call('recordSync', call))
  if ('error' in result) return success(result.error)
  parts.counters.add('syncs')
  return success(`fetched ${result.package_sha256}`)
}

async function fetched(sources: ContentSources, source: string, signal: AbortSignal): Promise<SyncResult> {
  try {
    return readPackage(await sources.read(source, signal))
  } catch (error) {
    if (error instanceof ContentError) return { error: error.message.slice(0, 1000) }
    throw error
  }
}
