import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/lists'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { Machines } from '@lcm/cloud/gathered'
import { recentLosses } from '@lcm/domain/fleet/brake'
import {
  type DiscoveryRules,
  type Finding,
  judgeFound,
  knownWorkers,
  labelsOfImport,
  statusOfImport,
} from '@lcm/domain/fleet/discovery'
import { decideOrphan, type Orphan } from '@lcm/domain/fleet/orphans'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { toInstant } from '@lcm/domain/instant'
import { endpointOf } from '@lcm/domain/worker/facts'
import { type Instance, TAG } from '@lcm/domain/worker/instance'
import type { Worker } from '@lcm/domain/worker/worker'
import type { HostedService, Leadership, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { DecisionLog } from '@lcm/service/decision-log'
import type { WorkerControllerConfig } from './config.ts'
import type { SettingsNow } from './settings-now.ts'

/** The reconciler looks first: what it adopts needs no discovery. */
const FIRST_AFTER_MS = 5_000
const NAME_CHARS_MAX = 128

export interface DiscoveryParts {
  readonly client: Client
  readonly machines: Machines
  readonly cml: CmlSystem
  readonly settings: SettingsNow
  readonly decisions: DecisionLog
  readonly clock: Clock
  readonly logger: Logger
  readonly config: WorkerControllerConfig
  /** Has the worker look for itself. */
  wake(workerId: string): void
}

export interface Discovery extends HostedService {
  /** Machines of ours that no record stands for, with what will be done about them. */
  orphans(): readonly PlannedAction[]
}

interface Memory {
  readonly markedAt: Map<string, number>
  terminations: number[]
  readonly plan: Map<string, PlannedAction>
}

/** Finds machines that nobody knows, and those of ours that nobody remembers. It writes no state of workers that are known. */
export function discoveryLoop(parts: DiscoveryParts): Discovery {
  const { clock, logger, config } = parts
  const memory: Memory = { markedAt: new Map(), terminations: [], plan: new Map() }
  return {
    name: 'discovery',
    orphans: () => [...memory.plan.values()],
    async run(signal, leadership) {
      // What another term has marked is marked anew: a new leader is slower to act, never quicker.
      memory.markedAt.clear()
      await clock.sleep(FIRST_AFTER_MS, signal)
      while (!signal.aborted) {
        try {
          await discover(parts, memory, { signal, leadership })
        } catch (err) {
          // One region that does not answer must not make its machines look gone, nor others' look new.
          if (!signal.aborted)
            logger.warn({ err }, 'discovery could not look at everything, and does nothing this time')
        }
        await clock.sleep(config.discoveryIntervalMs, signal)
      }
    },
  }
}

interface Term {
  readonly signal: AbortSignal
  readonly leadership: Leadership | undefined
}

/** The cloud is listed before the records, so that a record that is made meanwhile is seen. */
async function discover(parts: DiscoveryParts, memory: Memory, term: Term): Promise<void> {
  const { client, clock, config, settings } = parts
  const rules = await rulesOf(parts, term.signal)
  const listed: { region: string; instance: Instance }[] = []
  for (const region of Object.keys(config.regions)) {
    for (const instance of await machinesIn(parts, region, term.signal)) listed.push({ region, instance })
  }
  const workers = await everyWorker(client, term.signal)
  const known = knownWorkers(workers)
  const nowMs = clock.now()
  const orphans: { region: string; orphan: Orphan }[] = []
  for (const { region, instance } of listed) {
    const finding = judgeFound(instance, known, rules.get(region) ?? rules.get('') ?? NO_RULES, nowMs)
    if (finding.kind === 'orphan') orphans.push({ region, orphan: finding })
    else await follow(parts, region, finding, term)
  }
  const fleetSize = workers.filter(each => each.status !== 'TERMINATED' && each.ec2_instance_id !== null).length
  const context = { settings: await settings.read(term.signal), fleetSize, nowMs }
  await dealWithOrphans(parts, memory, { orphans, ...context }, term)
}

const NO_RULES: DiscoveryRules = { fleet: '', tag: null, imageIds: null, importEnabled: false }

async function rulesOf(
  { config, machines }: DiscoveryParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DiscoveryRules>> {
  const rules = new Map<string, DiscoveryRules>()
  for (const region of Object.keys(config.regions)) {
    const imageIds =
      config.discoveryAmiFilter === ''
        ? null
        : new Set(await machines.imageIds(region, config.discoveryAmiFilter, signal))
    rules.set(region, {
      fleet: config.fleet,
      tag: config.policy.discoveryTag,
      imageIds,
      importEnabled: config.autoImportEnabled,
    })
  }
  return rules
}

/** By the tag that says so, and by our own, which may have lost the other. */
async function machinesIn(
  { machines, config }: DiscoveryParts,
  region: string,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const { discoveryTag } = config.policy
  const ours = await machines.list(region, { tags: { [TAG.fleet]: config.fleet } }, signal)
  const marked =
    discoveryTag === null
      ? []
      : await machines.list(region, { tags: { [discoveryTag.key]: discoveryTag.value } }, signal)
  return [...new Map([...marked, ...ours].map(each => [each.instance_id, each])).values()]
}

const everyWorker = async (client: Client, signal: AbortSignal): Promise<readonly Worker[]> =>
  (await readList(page => client.call('listWorkers', { query: { ...page, include_terminated: true }, signal }))).items

async function follow(parts: DiscoveryParts, region: string, finding: Finding, term: Term): Promise<void> {
  if (finding.kind === 'wake') parts.wake(finding.workerId)
  if (finding.kind === 'import') await importFound(parts, region, finding.instance, term)
}

/** It is recorded as it is, and what is wanted of it is what it does already. */
async function importFound(parts: DiscoveryParts, region: string, instance: Instance, term: Term): Promise<void> {
  const url = endpointOf(instance)
  const probe = url === null ? null : await parts.cml.probe({ url, certificate_sha256: null }, term.signal)
  const body = {
    ec2_instance_id: instance.instance_id,
    aws_region: region,
    name: (instance.tags[TAG.name] || instance.instance_id).slice(0, NAME_CHARS_MAX),
    template_name: 'imported',
    status: statusOfImport(instance),
    instance_type: instance.instance_type,
    ami_id: instance.image_id,
    availability_zone: instance.availability_zone,
    public_ip: instance.public_ip,
    private_ip: instance.private_ip,
    https_endpoint: url,
    cml_version: probe?.version ?? null,
    tags: {},
    labels: labelsOfImport(instance),
    cost_per_hour_usd: 0,
  }
  try {
    const { id } = await parts.client.call('importWorker', {
      body,
      epoch: term.leadership?.epoch ?? 0,
      signal: term.signal,
    })
    parts.logger.info({ worker: id, instance: instance.instance_id, region }, 'a machine was found and recorded')
    parts.wake(id)
  } catch (err) {
    // One that can't be recorded must not keep the others from it.
    if (!term.signal.aborted)
      parts.logger.warn({ err, instance: instance.instance_id }, 'a machine could not be recorded')
  }
}

interface Found {
  readonly orphans: readonly { readonly region: string; readonly orphan: Orphan }[]
  readonly settings: Awaited<ReturnType<SettingsNow['read']>>
  readonly fleetSize: number
  readonly nowMs: number
}

async function dealWithOrphans(parts: DiscoveryParts, memory: Memory, found: Found, term: Term): Promise<void> {
  const { nowMs } = found
  memory.terminations = recentLosses(memory.terminations, nowMs)
  const seen = new Set(found.orphans.map(({ orphan }) => orphan.instance.instance_id))
  for (const id of [...memory.markedAt.keys()]) if (!seen.has(id)) memory.markedAt.delete(id)
  memory.plan.clear()
  for (const { region, orphan } of found.orphans) {
    const id = orphan.instance.instance_id
    const verdict = decideOrphan(orphan, memory, found, nowMs)
    memory.markedAt.set(id, memory.markedAt.get(id) ?? nowMs)
    memory.plan.set(id, {
      resource: `fleet:${id}`,
      action: `orphan_${verdict.action}`,
      because: `${id} in ${region}: ${verdict.because}`,
      due_at: toInstant(nowMs + (verdict.action === 'mark' ? parts.config.discoveryIntervalMs : 0)),
    })
    noteOrphan(parts, { id, region, ...verdict }, term)
    if (verdict.action === 'terminate') await destroy(parts, memory, { id, region, nowMs }, term)
  }
}

/** On record before anything is done about it. */
function noteOrphan(
  { decisions }: DiscoveryParts,
  orphan: { id: string; region: string; action: string; because: string },
  { leadership }: Term,
): void {
  decisions.note(`fleet:${orphan.id}`, leadership?.epoch ?? 0, {
    action: `orphan_${orphan.action}`,
    because: orphan.because,
    cause: 'discovery',
    seen: { instance_id: orphan.id, region: orphan.region },
    guards: [],
    outcome: '',
    duration_ms: 0,
  })
}

async function destroy(
  { machines, logger }: DiscoveryParts,
  memory: Memory,
  { id, region, nowMs }: { id: string; region: string; nowMs: number },
  { signal }: Term,
): Promise<void> {
  // Counted before it is asked for: a call that fails may have had its effect.
  memory.terminations.push(nowMs)
  try {
    const state = await machines.power(region, 'terminate', id, signal)
    logger.warn({ instance: id, region, state }, 'a machine of ours that no record stands for was terminated')
  } catch (err) {
    logger.warn({ err, instance: id, region }, 'an orphan could not be terminated')
  }
}
