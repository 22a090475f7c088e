import { freeCapacityFor, noCapacity, overQuota, quotaFor } from '../faults/ec2-capacity-and-quota.ts'
import { type SecondsRange, within } from '../seeded-random.ts'
import type { SimState } from '../sim-state.ts'
import { replan } from '../state-timeline.ts'
import { beforeNow, isVisible, type SimInstance, type StateMoment, type StateReason, stateAt } from './instance.ts'
import { Ec2Refusal, notPermitted, unknownInstances, wrongState } from './refusal.ts'
import { fading, scaled, startPlan } from './start-plan.ts'

export interface StateChange {
  readonly instance_id: string
  readonly previous: string
  readonly current: string
}

const STOPPING: SecondsRange = [60, 180]
const STOPPING_FORCED: SecondsRange = [5, 15]
const SHUTTING_DOWN: SecondsRange = [60, 120]

const BY_USER: StateReason = {
  code: 'Client.UserInitiatedShutdown',
  message: 'Client.UserInitiatedShutdown: User initiated shutdown',
}

/** StartInstances needs capacity in the machine's own zone, like a launch. */
export function startInstances(sim: SimState, region: string, ids: readonly string[]): readonly StateChange[] {
  const instances = namedInstances(sim, region, ids)
  checkCapacity(sim, region, instances)
  return changeAll(sim, instances, (instance, n) => started(sim, instance, n))
}

export function stopInstances(
  sim: SimState,
  region: string,
  act: { readonly ids: readonly string[]; readonly force: boolean },
): readonly StateChange[] {
  const instances = namedInstances(sim, region, act.ids)
  const kept = instances.find(instance => instance.disable_api_stop)
  if (kept) throw notPermitted(kept.instance_id, 'stopped')
  return changeAll(sim, instances, instance => stopped(sim, instance, act.force))
}

/** A protected machine protects its whole zone: machines of other zones are terminated although the call fails. */
export function terminateInstances(sim: SimState, region: string, ids: readonly string[]): readonly StateChange[] {
  const instances = namedInstances(sim, region, ids)
  const kept = instances.filter(isProtected)
  const zones = kept.map(instance => instance.availability_zone)
  const others = instances.filter(instance => !zones.includes(instance.availability_zone))
  const changes = changeAll(sim, others, instance => terminated(sim, instance))
  const first = kept[0]
  if (first) throw notPermitted(first.instance_id, 'terminated', first.disable_api_termination !== true)
  return changes
}

const isProtected = (instance: SimInstance) =>
  instance.disable_api_termination === true || instance.disable_api_stop === true

/** One unknown id fails the whole batch, and an id is unknown for a moment after its launch. */
export function namedInstances(sim: SimState, region: string, ids: readonly string[]): readonly SimInstance[] {
  const malformed = ids.find(id => !/^i-[0-9a-f]{8,17}$/.test(id))
  if (malformed !== undefined) throw new Ec2Refusal('InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`)
  const unknown = ids.filter(id => !knows(sim, region, id))
  if (unknown.length > 0) throw unknownInstances(unknown)
  return [...new Set(ids)].flatMap(id => sim.instances.get(id) ?? [])
}

function knows(sim: SimState, region: string, id: string): boolean {
  const instance = sim.instances.get(id)
  return instance !== undefined && instance.region === region && isVisible(instance, sim.now())
}

function checkCapacity(sim: SimState, region: string, instances: readonly SimInstance[]): void {
  const wanted = new Map<string, { readonly instance: SimInstance; count: number }>()
  for (const instance of instances) {
    if (stateAt(instance, sim.now()) !== 'stopped') continue
    const key = `${instance.availability_zone} ${instance.instance_type}`
    const entry = wanted.get(key) ?? { instance, count: 0 }
    wanted.set(key, { instance, count: entry.count + 1 })
  }
  for (const { instance, count } of wanted.values()) {
    if (freeCapacityFor(sim, instance) < count) throw noCapacity(sim, region, instance)
    if (quotaFor(sim, region, instance.instance_type) < count) throw overQuota(sim)
  }
}

/** All machines are checked before any is changed. A machine already in transition is left unchanged. */
function changeAll(
  sim: SimState,
  instances: readonly SimInstance[],
  change: (instance: SimInstance, n: number) => SimInstance,
): readonly StateChange[] {
  const nowMs = sim.now()
  let starts = 0
  const changes = instances.map(before => {
    const after = change(before, starts)
    if (after.start_count !== before.start_count) starts += 1
    return { before, after }
  })
  const instancesChanged = changes.filter(({ before, after }) => before !== after).map(({ after }) => after)
  if (instancesChanged.length > 0) sim.commit({ instances: instancesChanged })
  return changes.map(({ before, after }) => ({
    instance_id: before.instance_id,
    previous: stateAt(before, nowMs),
    current: stateAt(after, nowMs),
  }))
}

/** A start moves the machine to other hardware, which resolves its scheduled event. */
function started(sim: SimState, instance: SimInstance, n: number): SimInstance {
  const nowMs = sim.now()
  const state = stateAt(instance, nowMs)
  if (state === 'pending' || state === 'running') return instance
  if (state !== 'stopped') throw wrongState(instance.instance_id, 'started')
  const plan = startPlan(sim, { ...instance, start_count: instance.start_count + 1 }, n)
  const { event } = instance
  return {
    ...instance,
    ...(event ? { event: { ...event, completed_at_ms: event.completed_at_ms ?? nowMs } } : {}),
    ...plan,
    ...beforeNow(instance, nowMs),
    timeline: replan(instance.timeline, nowMs, plan.timeline),
  }
}

function stopped(sim: SimState, instance: SimInstance, force: boolean): SimInstance {
  const state = stateAt(instance, sim.now())
  if (state === 'stopped' || (state === 'stopping' && !force)) return instance
  if (state !== 'running' && state !== 'stopping') throw wrongState(instance.instance_id, 'stopped')
  const range = force ? STOPPING_FORCED : STOPPING
  return ending(sim, instance, { by: 'stopping', to: 'stopped', range })
}

function terminated(sim: SimState, instance: SimInstance): SimInstance {
  const state = stateAt(instance, sim.now())
  if (state === 'shutting-down' || state === 'terminated') return instance
  const dying = ending(sim, instance, { by: 'shutting-down', to: 'terminated', range: SHUTTING_DOWN })
  return { ...dying, ...fading(sim, dying.timeline.at(-1)?.from_ms ?? sim.now()) }
}

interface Ending {
  readonly by: StateMoment['state']
  readonly to: StateMoment['state']
  readonly range: SecondsRange
}

function ending(sim: SimState, instance: SimInstance, { by, to, range }: Ending): SimInstance {
  const nowMs = sim.now()
  const seconds = within(range, sim.chance.fraction(to, instance.number, instance.start_count))
  const future: readonly StateMoment[] = [
    { state: by, from_ms: nowMs, reason: BY_USER },
    { state: to, from_ms: nowMs + scaled(sim, seconds), reason: BY_USER },
  ]
  return {
    ...instance,
    timeline: replan(instance.timeline, nowMs, future),
    boot: replan(instance.boot, nowMs, [{ stage: 'NOTHING', from_ms: nowMs }]),
  }
}
