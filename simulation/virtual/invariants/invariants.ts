import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { type Dispatch, EPOCH_HEADER } from '@lcm/contract/route-spec'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import type { LicensePool } from '@lcm/domain/license/license-pool'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import type { Collection, Journal } from '@lcm/store/store'
import { illegalWorkerMoves } from '@lcm/testkit/transition-rules'
import { MINUTE_MS } from '../world/durations.ts'
import type { Mutation } from './cloud-mutation.ts'
import { heldTimes } from './held-times.ts'
import { overdrawnLicenses, wrongLicenseStatus } from './license/license-accounting.ts'
import { type LostLicenses, lostLicenses } from './license/lost-licenses.ts'
import { doubleLicenses } from './license/pool-seats.ts'
import type { RequestedState } from './requested-state-record.ts'
import { budgetBill } from './worker/budget-bill.ts'
import { orphanTerminationLimit } from './worker/orphan-termination-limit.ts'
import { stopsWithinLimit } from './worker/stop-limit.ts'
import { unreportedRefusals } from './worker/unreported-login-refusals.ts'
import { unreportedPowerRefusals } from './worker/unreported-power-refusals.ts'

/** How long a live machine of the fleet may exist without a worker record. */
const UNRECORDED_MS_MAX = 15 * MINUTE_MS
/** How long CML or EC2 may refuse LCM before a condition reports it: a few polls, and the loss of a leader or the API. */
const UNREPORTED_MS_MAX = 15 * MINUTE_MS
const CHECK_EVERY_MS = MINUTE_MS
/** Longer than a leader can run after it has lost its lease. */
const ZOMBIE_MS_MAX = MINUTE_MS
const MOVES_MAX = 1_000

export interface InvariantParts {
  readonly cloud: SimModel
  readonly fleet: string
  /** The latest version of every worker. */
  readonly latest: ReadonlyMap<string, Worker>
  readonly workers: Collection<Worker>
  readonly leaks: Collection<LicenseLeak>
  readonly pools: Collection<LicensePool>
  readonly journal: Journal
  readonly requested: RequestedState
  /** The latest version of every session. */
  readonly sessions: ReadonlyMap<string, LabletSession>
  now(): number
  /** Sealed texts that no key opens. */
  unreadable(): Promise<readonly string[]>
  /** Whether the cloud hides the machines of the fleet from LCM. */
  isCloudHidden(): boolean
}

export interface Invariants {
  readonly violations: string[]
  violated(rule: string): void
  /** Cheap enough to be called after every timer. */
  step(): void
  /** Called for every change of the cloud by a controller. */
  mutated(mutation: Mutation): void
  /** Checks that read the store, to be called now and then. */
  check(): Promise<void>
  /** Stricter checks for a settled system. */
  checkSettled(): Promise<void>
  /** Checks of the whole history, for the end of a run. */
  finally(): Promise<void>
  /** Reports accepted writes of a term that was superseded. */
  fenced(by: string, dispatch: Dispatch, service?: string): Dispatch
  /** Accepted writes of controllers, without metrics. */
  readonly accepted: readonly { readonly by: string; readonly atMs: number; readonly what: string }[]
  /** Every machine that ever existed. */
  readonly machines: ReadonlySet<string>
}

/** Rules that hold at every moment of every run. */
export function invariants(parts: InvariantParts): Invariants {
  const violations: string[] = []
  const violated = (rule: string) => {
    if (!violations.includes(rule)) violations.push(rule)
  }
  const heldMs = heldTimes(parts)
  let checkedMs = Number.NEGATIVE_INFINITY
  const registered = new Map<string, { epoch: number; by: string; atMs: number }>()
  const orphanLimit = orphanTerminationLimit(parts)
  const licenses = lostLicenses(parts)
  const bill = budgetBill(parts)
  const accepted: { by: string; atMs: number; what: string }[] = []
  const machines = new Set<string>()
  const ofWorker = new Map<string, Set<string>>()
  parts.cloud.watch(id => {
    machines.add(id)
    for (const rule of duplicateMachines(parts, ofWorker, id)) violated(rule)
  })

  return {
    violations,
    machines,
    violated,
    step() {
      if (parts.now() - checkedMs < CHECK_EVERY_MS) return
      checkedMs = parts.now()
      licenses.step(machines)
      bill.step()
      for (const rule of overdrawnLicenses(parts)) violated(rule)
      for (const [id, state] of unrecordedMachines(parts))
        if (heldMs(`unrecorded ${id}`, state !== null) > UNRECORDED_MS_MAX)
          violated(`${state} and without a record for too long`)
      for (const [id, violation] of unreportedRefusals(parts.cloud, parts.latest.values()))
        if (heldMs(`refused ${id}`, violation !== null) > UNREPORTED_MS_MAX) violated(`${violation}`)
      for (const [id, text] of unreportedPowerRefusals(parts.cloud, parts.latest.values(), parts.now()))
        if (heldMs(`blocked ${id}`, text !== null && !parts.isCloudHidden()) > UNREPORTED_MS_MAX) violated(`${text}`)
    },
    mutated(mutation) {
      for (const rule of [...orphanLimit(mutation), ...bill.started(mutation)]) violated(rule)
      const leader = registered.get(mutation.service)
      if (leader !== undefined && leader.by !== mutation.by && parts.now() - leader.atMs > ZOMBIE_MS_MAX)
        violated(`${mutation.by}: ${mutation.act} of ${mutation.machine} long after ${leader.by} has taken over`)
    },
    check: async () =>
      [...(await licenses.unrecorded()), ...(await parts.unreadable()), ...(await doubleLicenses(parts))].forEach(
        violated,
      ),
    checkSettled: async () => (await settledViolations(parts, licenses)).forEach(violated),
    finally: async () => (await finalViolations(parts, licenses)).forEach(violated),
    fenced:
      (by, dispatch, service = 'worker-controller') =>
      async request => {
        const epoch = Number(request.headers[EPOCH_HEADER] ?? 0)
        const newest = registered.get(service)?.epoch ?? 0
        const response = await dispatch(request)
        const isAccepted = response.status < 300 && request.method !== 'GET'
        if (isAccepted && request.url.endsWith('/term')) {
          const registeredEpoch = epochIn(request.body)
          if (registeredEpoch > newest) registered.set(service, { epoch: registeredEpoch, by, atMs: parts.now() })
        } else if (isAccepted && epoch > 0) {
          accepted.push({ by, atMs: parts.now(), what: `${request.method} ${request.url}` })
          if (epoch < newest) violated(`${by}: ${request.method} ${request.url} of epoch ${epoch} after ${newest}`)
        }
        return response
      },
    accepted,
  }
}

async function settledViolations(parts: InvariantParts, licenses: LostLicenses): Promise<readonly string[]> {
  const lost = [...parts.latest.values()].flatMap(worker => parts.requested.lost(worker))
  return [...(await licenses.unrecordedWhenSettled()), ...wrongLicenseStatus(parts), ...lost]
}

async function finalViolations(parts: InvariantParts, licenses: LostLicenses): Promise<readonly string[]> {
  return [
    ...(await parts.unreadable()),
    ...(await illegalHistories(parts)),
    ...(await licenses.unrecordedAtEnd()),
    ...(await stopsWithinLimit(parts.journal, { settings: parts.requested.settings, workers: parts.latest.size })),
  ]
}

const isLive = (state: string): boolean => state !== 'terminated' && state !== 'shutting-down'
/** LCM launches every machine with a client token; tags prove nothing. */
const isLaunchedByUs = ({ instance }: { instance: { client_token: string | null } }): boolean =>
  instance.client_token !== null
const epochIn = (body: string | null): number => Number(JSON.parse(body ?? '{}').epoch ?? 0)

/** Two live machines that were launched for the same worker. */
function duplicateMachines({ cloud }: InvariantParts, ofWorker: Map<string, Set<string>>, changedId: string): string[] {
  const worker = cloud.machine(changedId)?.instance.tags[TAG.workerId]
  if (worker === undefined) return []
  const known = ofWorker.get(worker) ?? new Set()
  ofWorker.set(worker, known.add(changedId))
  const live = [...known]
    .flatMap(id => cloud.machine(id) ?? [])
    .filter(each => isLive(each.state) && isLaunchedByUs(each))
  const names = live.map(each => `${each.instance.instance_id} (${each.state})`)
  return live.length > 1 ? [`${worker} has ${live.length} live machines: ${names.join(', ')}`] : []
}

/** The transitions of each worker form one chain from its creation, and the lifecycle allows each of them. */
async function illegalHistories({ journal, latest }: InvariantParts): Promise<string[]> {
  const wrong: string[] = []
  for (const [id, { status }] of latest) {
    const entries = await journal.query({ streams: ['transition'], subject: `worker:${id}`, limit: MOVES_MAX })
    const moves = [...entries].reverse().map(({ body }) => body as { from: WorkerStatus | null; to: WorkerStatus })
    wrong.push(...illegalWorkerMoves(id, moves))
    if (entries.length === 0 || entries.length === MOVES_MAX) continue
    const [first, last] = [moves[0]?.from ?? null, moves.at(-1)?.to]
    if (first !== null) wrong.push(`${id} has ${first} before its first transition`)
    if (last !== status) wrong.push(`${id} is ${status}, and its journal ends with ${last}`)
  }
  return wrong
}

/** Every machine, with a violation if it belongs to the fleet and has no worker record. */
function unrecordedMachines({ cloud, latest, fleet, isCloudHidden }: InvariantParts): [string, string | null][] {
  const records = [...latest.values()].filter(({ status }) => status !== 'TERMINATED')
  const recorded = new Set(records.map(({ ec2_instance_id }) => ec2_instance_id))
  return cloud.machines().map(({ instance, state, tags }) => {
    const id = instance.instance_id
    const isOurs = tags[TAG.fleet] === fleet && isLaunchedByUs({ instance })
    const isUnrecorded = isLive(state) && isOurs && !recorded.has(id) && !isCloudHidden()
    return [id, isUnrecorded ? `${id} of ${tags[TAG.workerId]} is ${state}` : null]
  })
}
