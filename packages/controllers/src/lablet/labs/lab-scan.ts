import { pagesOf } from '@lcm/client/list-pages'
import type { CmlLab, CmlNode } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import type { BodyInput } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { NODES_MAX } from '@lcm/domain/lab/topology'
import { canServeLabs } from '@lcm/domain/session/decide-session'
import { isTrusted } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import {
  type ReconcileContext,
  type Reconciliation,
  type ReconciliationResult,
  reconciliationHostedService,
  requeue,
  retry,
  success,
} from '@lcm/runtime'
import { fencedWrite } from '../../kit/fenced-write.ts'
import { fetchWorker, labsOnRecord } from '../api-calls.ts'
import type { LabletDependencies } from '../dependencies.ts'
import { loginTo } from './fenced-labs.ts'
import { deleteStrays, releaseQuarantined } from './session-leftovers.ts'

export type LabScanParts = Omit<LabletDependencies, 'memory' | 'definitions' | 'settings' | 'labsChanged'>

/** Minimum time between two scans of a worker. */
const APART_MS = 60_000
const NO_SLOT_MS = 5_000

/** Seeds: LabRecordReconciler, its scan. Records the labs of a worker and releases capacity that no lab uses. */
export function labScan(parts: LabScanParts): Reconciliation {
  const { client, config, clock, logger, meter } = parts
  /** By worker: monotonic time and term of the last complete scan. */
  const scanned = new Map<string, { readonly epoch: number; readonly atMs: number }>()
  const isDue = (worker: Worker): boolean => {
    if (!canServeLabs(worker) || !isTrusted(worker)) return false
    const last = scanned.get(worker.id)
    if (last === undefined) return true
    return worker.labs_refresh_requested_at !== null || clock.monotonic() - last.atMs >= config.labScanIntervalMs
  }
  return reconciliationHostedService<Worker>(
    {
      listResources: signal => pagesOf(page => client.call('listWorkers', { query: page, signal })),
      keyOf: worker => worker.id,
      fetchResource: (id, signal) => fetchWorker(client, id, signal),
      needsAttention: isDue,
      async reconcile(worker, context) {
        if (!canServeLabs(worker)) return success('it does not serve')
        if (!isTrusted(worker)) return success('its machine is not approved')
        const last = scanned.get(worker.id)
        const waitMs = last?.epoch === context.epoch ? last.atMs + APART_MS - clock.monotonic() : 0
        if (waitMs > 0) return requeue('its labs were listed just now', waitMs)
        const scanning = parts.slots.tryWith(worker.id, () => scan(parts, worker, context))
        if (scanning === null) return requeue('all slots of its CML are in use', NO_SLOT_MS)
        const result = await scanning
        if (result.status === 'SUCCESS') scanned.set(worker.id, { epoch: context.epoch, atMs: clock.monotonic() })
        return result
      },
    },
    {
      serviceName: 'lab-scan',
      metricPrefix: 'lablet_controller_lab_scan',
      intervalMs: config.reconcileIntervalMs,
      pollingEnabled: config.pollingEnabled,
      maxConcurrent: config.maxConcurrent,
    },
    { clock, logger, meter },
  )
}

async function scan(
  parts: LabScanParts,
  worker: Worker,
  { epoch, signal, withoutSlot }: ReconcileContext<Worker>,
): Promise<ReconciliationResult> {
  const began_at = toInstant(parts.clock.now())
  try {
    const login = await loginTo(parts.logins, worker, signal)
    const labs = await withoutSlot(() => parts.labs.list(login, signal))
    const known = await labsOnRecord(parts.client, { worker_id: worker.id }, signal)
    const scanned = await withoutSlot(() => scanLabs(parts, { login, signal, known }, labs))
    const body = { worker_id: worker.id, began_at, is_complete: true, labs: scanned }
    await fencedWrite(parts.election, () => parts.client.call('discoverLabs', { body, epoch, signal }))
    parts.counters.add('labs_scanned')
    const seen = { worker, labs, epoch, signal, ourName: login.username }
    await deleteStrays(parts, seen)
    const released = await releaseQuarantined(parts, seen)
    return success(`${labs.length} labs${released === 0 ? '' : `, and capacity of ${released} sessions that are over`}`)
  } catch (error) {
    if (error instanceof CloudError) return retry(error.message, error)
    throw error
  }
}

interface ScanContext {
  readonly login: CmlLogin
  readonly signal: AbortSignal
  readonly known: readonly LabRecord[]
}

type ScannedLab = BodyInput<'discoverLabs'>['labs'][number]

/** More than this is left for the next scan, or one request would grow too long. */
const NODES_PER_SCAN_MAX = 10_000

async function scanLabs(parts: LabScanParts, context: ScanContext, labs: readonly CmlLab[]): Promise<ScannedLab[]> {
  const scanned: ScannedLab[] = []
  let nodes = 0
  for (const lab of labs) {
    const scannedLab = nodes < NODES_PER_SCAN_MAX ? await scanLab(parts, context, lab) : asDiscovered(lab)
    nodes += scannedLab.nodes?.length ?? 0
    scanned.push(scannedLab)
  }
  return scanned
}

/** Nodes are read only where they may have changed: that is one more request per lab. */
async function scanLab(
  { labs }: LabScanParts,
  { login, signal, known }: ScanContext,
  lab: CmlLab,
): Promise<ScannedLab> {
  const record = known.find(({ lab_id }) => lab_id === lab.lab_id)
  const isAsBefore = record?.raw_state === lab.state && record.nodes.length === Math.min(lab.node_count ?? 0, NODES_MAX)
  const nodes = isAsBefore ? null : await nodesUnlessUnknown(labs.nodes(login, lab.lab_id, signal))
  return { ...asDiscovered(lab), ...(nodes === null ? {} : { nodes: nodes.slice(0, NODES_MAX).map(asNode) }) }
}

/** Nodes that can't be read stay unknown; the lab itself is still reported. */
const nodesUnlessUnknown = (asking: Promise<readonly CmlNode[]>): Promise<readonly CmlNode[] | null> =>
  asking.catch((error: unknown) => {
    if (error instanceof CloudError) return null
    throw error
  })

const asNode = ({ label, node_definition, state }: CmlNode) => ({ label, node_definition, state })

const asDiscovered = (lab: CmlLab): ScannedLab => ({
  lab_id: lab.lab_id,
  title: lab.title.slice(0, 256),
  owner: lab.owner?.slice(0, 128) ?? null,
  state: lab.state.slice(0, 64),
  node_count: lab.node_count ?? 0,
  link_count: lab.link_count ?? 0,
})
