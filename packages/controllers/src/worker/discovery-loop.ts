import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import {
  type DiscoveryRules,
  type Finding,
  judgeFound,
  knownWorkers,
  labelsOfImport,
  statusOfImport,
} from '@lcm/domain/fleet/discovery'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { HIDDEN_CHARACTERS } from '@lcm/domain/text/hidden-characters'
import { endpointOf } from '@lcm/domain/worker/cml-endpoint'
import { type Instance, LAUNCH_TEMPLATE_TAG, TAG } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from '../kit/decision-log.ts'
import { inParallel } from '../kit/in-parallel.ts'
import type { SettingsCache } from '../kit/settings-cache.ts'
import type { WorkerControllerConfig } from './config.ts'
import type { RegionSnapshots } from './machine-list-cache.ts'
import { type OrphanWatch, orphanWatch } from './orphan-machines.ts'

/** The reconciler comes first: what it adopts needs no discovery. */
const FIRST_AFTER_MS = 5_000
const NAME_CHARS_MAX = 128
/** A CML that does not answer takes seconds until the timeout. */
const PROBES_AT_ONCE = 50

export interface DiscoveryParts {
  readonly client: Client
  readonly machines: BatchedCompute
  readonly snapshots: RegionSnapshots
  readonly cml: CmlSystem
  readonly settings: SettingsCache
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly config: WorkerControllerConfig
  /** Wakes the reconciler of the worker. */
  wake(workerId: string): void
}

export interface Discovery extends HostedService {
  /** Machines of this fleet without a worker record, with the planned action. */
  orphans(): readonly PlannedAction[]
}

/** Imports unknown machines and reports orphans. It never writes the state of known workers. */
export function discoveryLoop(parts: DiscoveryParts): Discovery {
  const { clock, logger, config } = parts
  const watch = orphanWatch({ ...parts, intervalMs: config.discoveryIntervalMs })
  return {
    name: 'discovery',
    orphans: watch.plan,
    async run(signal, leadership) {
      watch.beginTerm()
      await clock.sleep(FIRST_AFTER_MS, signal)
      while (!signal.aborted) {
        try {
          await discover(parts, watch, { signal, epoch: leadership?.epoch ?? 0 })
        } catch (err) {
          // A region that does not answer must not make its machines seem gone, or other machines new.
          if (!signal.aborted) logger.warn({ err }, 'discovery could not list everything and skips this round')
        }
        await clock.sleep(config.discoveryIntervalMs, signal)
      }
    },
  }
}

interface Term {
  readonly signal: AbortSignal
  readonly epoch: number
}

/** The machines of one region, with the discovery rules there. */
interface Listing {
  readonly region: string
  readonly rules: DiscoveryRules
  readonly instances: readonly Instance[]
}

/** The cloud is listed before the records, so a record created meanwhile is seen. */
async function discover(parts: DiscoveryParts, watch: OrphanWatch, term: Term): Promise<void> {
  const { client, clock, config, settings } = parts
  const listings: Listing[] = []
  for (const region of Object.keys(config.regions)) listings.push(await listingOf(parts, region, term.signal))
  const workers = await everyWorker(client, term.signal)
  const known = knownWorkers(workers)
  const nowMs = clock.now()
  const findings = listings.flatMap(({ region, rules, instances }) =>
    instances.map(instance => ({ region, finding: judgeFound(instance, known, rules, nowMs) })),
  )
  await inParallel(findings, { atOnce: PROBES_AT_ONCE, signal: term.signal }, ({ region, finding }) =>
    follow(parts, region, finding, term),
  )
  if (term.signal.aborted) return
  const orphans = findings.flatMap(({ region, finding }) =>
    finding.kind === 'orphan' ? [{ region, orphan: finding }] : [],
  )
  await watch.deal({ orphans, settings: await settings.read(term.signal), nowMs }, term)
}

async function listingOf(parts: DiscoveryParts, region: string, signal: AbortSignal): Promise<Listing> {
  const { machines, config } = parts
  const { discoveryAmiFilter: names, policy, fleet, autoImportEnabled: importEnabled } = config
  const imageIds = names === '' ? null : new Set(await machines.imageIds(region, names, signal))
  const rules: DiscoveryRules = { fleet, tag: policy.discoveryTag, imageIds, importEnabled }
  return { region, rules, instances: await machinesIn(parts, region, rules, signal) }
}

/** Machines by the discovery tag, by our own tag, and by their image where no tag is needed. */
async function machinesIn(
  { machines, snapshots, config }: DiscoveryParts,
  region: string,
  { imageIds }: DiscoveryRules,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const tagged = [...(await snapshots.latest(region, signal)).values()]
  if (config.policy.discoveryTag !== null || imageIds === null || imageIds.size === 0) return tagged
  const imaged = await machines.list(region, { image_ids: [...imageIds] }, signal)
  return [...new Map([...imaged, ...tagged].map(each => [each.instance_id, each])).values()]
}

const everyWorker = async (client: Client, signal: AbortSignal): Promise<readonly Worker[]> =>
  (await readList(page => client.call('listWorkers', { query: { ...page, include_terminated: true }, signal }))).items

async function follow(parts: DiscoveryParts, region: string, finding: Finding, term: Term): Promise<void> {
  if (finding.kind === 'wake') parts.wake(finding.workerId)
  if (finding.kind === 'import') await importFound(parts, region, finding.instance, term)
}

/** The Name tag on one line, else the instance id. */
const nameOfImport = ({ tags, instance_id }: Instance): string =>
  (tags[TAG.name] ?? '').replaceAll(HIDDEN_CHARACTERS, ' ').trim().slice(0, NAME_CHARS_MAX) || instance_id

/** Imports the machine as it is, with its present state as the desired one. */
async function importFound(parts: DiscoveryParts, region: string, instance: Instance, term: Term): Promise<void> {
  const url = endpointOf(instance, parts.config.policy.cmlAddress)
  const probe = url === null ? null : await parts.cml.probe({ url, certificate_sha256: null }, term.signal)
  const body = {
    ec2_instance_id: instance.instance_id,
    aws_region: region,
    name: nameOfImport(instance),
    template_name: 'imported',
    status: statusOfImport(instance),
    instance_type: instance.instance_type,
    ami_id: instance.image_id,
    launch_template_id: instance.tags[LAUNCH_TEMPLATE_TAG] ?? null,
    availability_zone: instance.availability_zone,
    public_ip: instance.public_ip,
    private_ip: instance.private_ip,
    https_endpoint: url,
    cml_version: probe?.version ?? null,
    certificate_sha256: probe?.certificate_sha256 ?? null,
    tags: {},
    labels: labelsOfImport(instance),
  }
  try {
    const { id } = await parts.client.call('importWorker', {
      body,
      epoch: term.epoch,
      signal: term.signal,
    })
    parts.logger.info({ worker: id, instance: instance.instance_id, region }, 'imported a discovered machine')
    parts.wake(id)
  } catch (err) {
    // One failed import must not stop the others.
    if (!term.signal.aborted) parts.logger.warn({ err, instance: instance.instance_id }, 'could not import a machine')
  }
}
