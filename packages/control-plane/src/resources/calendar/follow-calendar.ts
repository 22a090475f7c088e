import { RESOURCE_KINDS } from '@lcm/contract/resource-kinds'
import { type CapacityFacts, capacityOf } from '@lcm/domain/calendar/capacity'
import {
  type Capacity,
  type CapacityProfile,
  changeCapacity,
  emptyProfile,
  enter,
  leave,
  settle,
} from '@lcm/domain/calendar/capacity-profile'
import type { MachineChoice, MachineOffer, Use } from '@lcm/domain/calendar/promised-machine'
import { ALWAYS } from '@lcm/domain/calendar/span'
import type { Timings } from '@lcm/domain/calendar/timings'
import { hasBudget } from '@lcm/domain/fleet/budget'
import { freeSeatsOf, seatCount } from '@lcm/domain/license/license-pool'
import { type Demand, demandOf } from '@lcm/domain/session/demand'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { PositionedChange } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { withDeadline } from '../../http/with-deadline.ts'
import { listAll, pagesOf } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { currentTimings } from '../timing/queries.ts'
import type { CalendarHead } from './calendar-head.ts'
import { useOf, wishOf } from './calendar-uses.ts'
import { inSlices, type Known, pauses } from './capacity-calendar.ts'
import { spendingFacts } from './spending-facts.ts'

/**
 * Everything that is promised up to the head, and the capacity there is now. Sessions that another replica admitted are read before
 * anything is decided; what became free is noticed as soon as the feed has it.
 */
export async function followedProfile(api: Api, head: CalendarHead): Promise<CapacityProfile> {
  const { calendar, clock } = api
  const before = calendar.known
  // After an error nothing is known, so everything is read again.
  calendar.known = null
  const isFollowed = before !== null && (await applyChanges(api, before)) && (await applyAdmissions(api, before, head))
  const known = isFollowed ? before : await load(api, head)
  await refreshTimings(api, known)
  await refreshSpending(api, known)
  enterHeld(known)
  overrun(known, clock.now())
  const capacity = capacityOf(await capacityFacts(api, known))
  const signature = signatureOf(capacity)
  if (signature === known.signature) known.profile.capacity = capacity
  else await inSlices(clock, changeCapacity(known.profile, capacity))
  known.signature = signature
  await inSlices(clock, settle(known.profile))
  calendar.known = known
  return known.profile
}

/** They change with every lab that starts, and little. */
const TIMINGS_MS = 60_000

async function refreshTimings(api: Api, known: Known): Promise<void> {
  const nowMs = api.clock.monotonic()
  if (nowMs - known.timedAtMs < TIMINGS_MS) return
  known.timings = await currentTimings(api)
  known.timedAtMs = nowMs
}

/** What was spent changes slowly too; running machines count from the time when it was read. */
async function refreshSpending(api: Api, known: Known): Promise<void> {
  const settings = await currentSettings(api)
  const { spending } = known
  if (!hasBudget(settings)) known.spending = null
  else if (spending === null || api.clock.now() - spending.untilMs >= TIMINGS_MS)
    known.spending = await spendingFacts(api, settings, known)
  else known.spending = { ...spending, limits: settings }
}

/** Other replicas may have freed capacity that the feed does not have yet: before a refusal, everything is read again. */
export async function rereadProfile(api: Api, head: CalendarHead): Promise<CapacityProfile | null> {
  const { calendar, clock, store } = api
  const isOwnFeed = store.changes !== null
  if (isOwnFeed || calendar.known === null || clock.monotonic() - calendar.known.loadedAtMs < REREAD_MS) return null
  calendar.known = await load(api, head)
  return followedProfile(api, head)
}
const REREAD_MS = 2_000

export async function capacityFacts(
  api: Api,
  { workers, spending }: Pick<Known, 'workers' | 'spending'>,
): Promise<CapacityFacts> {
  const pools = await listAll(api.licensePools)
  return {
    workers: [...workers.values()],
    templates: await api.templates.list({ limit: TEMPLATES_MAX }),
    settings: await currentSettings(api),
    region: api.config.regions[0],
    licenses: freeSeatsOf(pools.map(pool => ({ product: pool.product, free: seatCount(pool).free }))),
    nowMs: api.clock.now(),
    spending,
  }
}
const TEMPLATES_MAX = 1000

/** The facts that promises depend on. Most changes of workers don't change it. */
function signatureOf({ machines }: Capacity): string {
  const texts = new Map<MachineOffer['choices'], string>()
  const textOf = (choices: MachineOffer['choices']) => {
    const text = texts.get(choices) ?? JSON.stringify(choices.map(factsOf))
    texts.set(choices, text)
    return text
  }
  return machines.map(({ key, choices }) => `${key} ${textOf(choices)}`).join()
}

const factsOf = ({ capacity: { worker, isExpected }, limits }: MachineChoice) => {
  const { template_name, cml, license } = worker
  return [template_name, limits, cml.version, cml.node_definitions, license.status, license.product, isExpected]
}

/** Other requests are served between the pages. */
const PAGE = 20

async function load(api: Api, { number }: CalendarHead): Promise<Known> {
  const position = await withDeadline(api.clock, FEED_MS_MAX, api.feed.position()).catch(() => null)
  const known: Known = {
    profile: emptyProfile({
      machines: [],
      holders: { offers: [], hosts: [] },
      region: '',
      workersMax: 0,
      isScaleUpOn: false,
      missingLicense: null,
      spending: null,
    }),
    workers: new Map(),
    versions: new Map(),
    demands: new Map(),
    bestEffort: new Map(),
    held: new Map(),
    timings: await currentTimings(api),
    spending: null,
    timedAtMs: api.clock.monotonic(),
    signature: '',
    position,
    loadedAtMs: api.clock.monotonic(),
    number,
  }
  for await (const page of pagesOf(api.workers)) for (const worker of page) enterWorker(known, worker)
  const capacity = capacityOf(await capacityFacts(api, known))
  await inSlices(api.clock, changeCapacity(known.profile, capacity))
  known.signature = signatureOf(capacity)
  const sessions: LabletSession[] = []
  const pause = pauses(api.clock)
  for await (const page of pagesOf(api.sessions, { where: { is_over: 'no' } }, PAGE)) {
    sessions.push(...page)
    await pause()
  }
  // Sessions on a worker are where they are; promises follow in the order of their admission.
  const rank = ({ worker_id, admission }: LabletSession) => (worker_id === null ? (admission.number ?? 0) : -1)
  for (const session of sessions) {
    await demandFor(api, known, session)
    await pause()
  }
  await inSlices(
    api.clock,
    enterAll(
      known,
      sessions.sort((a, b) => rank(a) - rank(b)),
      api.clock.now(),
    ),
  )
  return known
}

function* enterAll(known: Known, sessions: readonly LabletSession[], nowMs: number): Generator<void> {
  for (const session of sessions) {
    enterSession(known, session, nowMs)
    yield
  }
}

function enterWorker({ workers }: Known, worker: Worker): void {
  if (worker.status === 'TERMINATED') workers.delete(worker.id)
  else workers.set(worker.id, worker)
}

/** The demand must be known. */
function enterSession(known: Known, session: LabletSession, nowMs: number): void {
  const { profile, versions, demands, timings, bestEffort } = known
  const { id, version, definition, needs } = session
  const demand = demands.get(definition.id)?.byNeeds.get(JSON.stringify(needs))
  const time = { nowMs, teardownMs: timings.teardownMs }
  const use = demand === undefined ? null : useOf(session, demand, time)
  const wish = demand === undefined ? null : wishOf(session, demand, time)
  versions.set(id, version)
  if (use === null) leave(profile, id)
  else enter(profile, use)
  if (wish === null) bestEffort.delete(id)
  else bestEffort.set(id, wish)
}

async function demandFor(api: Api, known: Known, { definition, needs }: LabletSession): Promise<Demand | null> {
  let placeable = known.demands.get(definition.id)
  if (placeable === undefined) {
    const stored = await api.definitions.get(definition.id)
    placeable = stored === null ? null : { demand: demandOf(stored), byNeeds: new Map() }
    known.demands.set(definition.id, placeable)
  }
  if (placeable === null) return null
  const text = JSON.stringify(needs)
  const demand = placeable.byNeeds.get(text) ?? { ...placeable.demand, needs }
  placeable.byNeeds.set(text, demand)
  return demand
}

/** The demand that further sessions of this definition are compared by, and how long their labs take. Null if it was deleted. */
export async function placeableSession(
  api: Api,
  session: LabletSession,
): Promise<{ readonly demand: Demand; readonly timings: Timings } | null> {
  const { known } = api.calendar
  const demand = known === null ? null : await demandFor(api, known, session)
  return known === null || demand === null ? null : { demand, timings: known.timings }
}

const CHANGES_MAX = 1000
const FEED_MS_MAX = 1000

/** False when changes were missed: then everything is read again. */
async function applyChanges(api: Api, known: Known): Promise<boolean> {
  const pause = pauses(api.clock)
  for (;;) {
    if (known.position === null) return false
    const since = api.feed.since(known.position, CHANGES_MAX)
    const answer = await withDeadline(api.clock, FEED_MS_MAX, since).catch(() => null)
    if (answer === null || !answer.known) return false
    for (const change of answer.changes) {
      if (!(await apply(api, known, change))) return false
      await pause()
    }
    const last = answer.changes.at(-1)
    if (last === undefined) return true
    known.position = last.position
  }
}

/** False when everything must be read again. */
async function apply(api: Api, known: Known, { kind, id, version, deleted }: PositionedChange): Promise<boolean> {
  switch (kind) {
    case RESOURCE_KINDS.sessions.kind: {
      if ((known.versions.get(id) ?? 0) >= version) return true
      const session = deleted ? null : await api.sessions.get(id)
      if (session === null) forget(known, id)
      else await enterRead(api, known, session)
      return true
    }
    case RESOURCE_KINDS.workers.kind: {
      const worker = deleted ? null : await api.workers.get(id)
      if (worker === null) known.workers.delete(id)
      else enterWorker(known, worker)
      return true
    }
    case RESOURCE_KINDS.definitions.kind:
      return isSameDemand(api, known, id)
    default:
      return true
  }
}

function forget({ profile, versions, bestEffort }: Known, id: string): void {
  bestEffort.delete(id)
  leave(profile, id)
  versions.delete(id)
}

async function enterRead(api: Api, known: Known, session: LabletSession): Promise<void> {
  await demandFor(api, known, session)
  enterSession(known, session, api.clock.now())
}

async function isSameDemand(api: Api, { demands }: Known, id: string): Promise<boolean> {
  const placeable = demands.get(id)
  if (placeable === undefined || placeable === null) {
    demands.delete(id)
    return true
  }
  const stored = await api.definitions.get(id)
  return stored !== null && JSON.stringify(demandOf(stored)) === JSON.stringify(placeable.demand)
}

/** More than this many admissions of other replicas are read faster with everything else. */
const ADMISSIONS_MAX = 100

/** Enters what other replicas admitted, which the feed may not have yet. */
async function applyAdmissions(api: Api, known: Known, head: CalendarHead): Promise<boolean> {
  if (head.number < known.number || head.number - known.number > ADMISSIONS_MAX) return false
  const pause = pauses(api.clock)
  for (; known.number < head.number; known.number += 1) {
    const where = { calendar_number: String(known.number + 1) }
    for await (const page of pagesOf(api.sessions, { where }, PAGE)) {
      for (const session of page) {
        if ((known.versions.get(session.id) ?? 0) < session.version) await enterRead(api, known, session)
        await pause()
      }
    }
  }
  return true
}

/** Reservations whose session has left the worker or is gone hold their capacity until they are released. */
function enterHeld({ profile, workers, held }: Known): void {
  const present = new Set<string>()
  for (const worker of workers.values())
    for (const [sessionId, { cpu_cores, memory_gb, storage_gb, nodes }] of Object.entries(worker.reservations)) {
      const use = profile.uses.get(sessionId)
      if (use !== undefined && (use.workerId === null || use.workerId === worker.id)) continue
      const id = `held ${worker.id} ${sessionId}`
      present.add(id)
      const needs = { cpu_cores, memory_gb, storage_gb, node_count: nodes }
      const demand = held.get(id) ?? { ...NO_DEMAND, needs }
      held.set(id, demand)
      enter(profile, { id, demand, span: ALWAYS, workerId: worker.id, number: null, machine: null })
    }
  for (const id of [...held.keys()].filter(each => !present.has(each))) {
    held.delete(id)
    leave(profile, id)
  }
}
const NO_DEMAND: Omit<Demand, 'needs'> = {
  session_id: null,
  node_definitions: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  ports: 0,
  span: ALWAYS,
}

/** A session whose time is over keeps its worker's capacity until its lab is gone. */
function overrun({ profile, timings }: Known, nowMs: number): void {
  const late: Use[] = []
  for (const use of profile.uses.values()) if (use.workerId !== null && use.span.untilMs <= nowMs) late.push(use)
  for (const use of late) enter(profile, { ...use, span: { ...use.span, untilMs: nowMs + timings.teardownMs } })
}
