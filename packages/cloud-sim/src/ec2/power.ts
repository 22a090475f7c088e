import { type SecondsRange, within } from '../chance.ts'
import { replanned } from '../timeline.ts'
import type { World } from '../world.ts'
import { isVisible, type SimInstance, type StateMoment, type StateReason, stateAt } from './instance.ts'
import { scaled, startPlan } from './launch.ts'
import { Ec2Refusal, unknownInstances, wrongState } from './refusal.ts'

export interface StateChange {
  readonly instance_id: string
  readonly previous: string
  readonly current: string
}

const STOPPING: SecondsRange = [60, 180]
const STOPPING_FORCED: SecondsRange = [5, 15]
const SHUTTING_DOWN: SecondsRange = [60, 120]
const TERMINATED_SHOWN_S = 3600

const BY_USER: StateReason = {
  code: 'Client.UserInitiatedShutdown',
  message: 'Client.UserInitiatedShutdown: User initiated shutdown',
}

export const startInstances = (world: World, region: string, ids: readonly string[]): readonly StateChange[] =>
  changeAll(world, namedInstances(world, region, ids), (instance, n) => started(world, instance, n))

export function stopInstances(
  world: World,
  region: string,
  act: { readonly ids: readonly string[]; readonly force: boolean },
): readonly StateChange[] {
  return changeAll(world, namedInstances(world, region, act.ids), instance => stopped(world, instance, act.force))
}

export const terminateInstances = (world: World, region: string, ids: readonly string[]): readonly StateChange[] =>
  changeAll(world, namedInstances(world, region, ids), instance => terminated(world, instance))

/** One unknown id fails the whole batch, and an id is unknown for a moment after its launch. */
export function namedInstances(world: World, region: string, ids: readonly string[]): readonly SimInstance[] {
  const malformed = ids.find(id => !/^i-[0-9a-f]{8,17}$/.test(id))
  if (malformed !== undefined) throw new Ec2Refusal('InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`)
  const unknown = ids.filter(id => !knows(world, region, id))
  if (unknown.length > 0) throw unknownInstances(unknown)
  return [...new Set(ids)].flatMap(id => world.instances.get(id) ?? [])
}

function knows(world: World, region: string, id: string): boolean {
  const instance = world.instances.get(id)
  return instance !== undefined && instance.region === region && isVisible(instance, world.now())
}

/** Every machine is judged before any is changed. A machine that is already on its way is left alone. */
function changeAll(
  world: World,
  instances: readonly SimInstance[],
  change: (instance: SimInstance, n: number) => SimInstance,
): readonly StateChange[] {
  const nowMs = world.now()
  let starts = 0
  const changes = instances.map(before => {
    const after = change(before, starts)
    if (after.start_count !== before.start_count) starts += 1
    return { before, after }
  })
  const instancesChanged = changes.filter(({ before, after }) => before !== after).map(({ after }) => after)
  if (instancesChanged.length > 0) world.commit({ instances: instancesChanged })
  return changes.map(({ before, after }) => ({
    instance_id: before.instance_id,
    previous: stateAt(before, nowMs),
    current: stateAt(after, nowMs),
  }))
}

function started(world: World, instance: SimInstance, n: number): SimInstance {
  const state = stateAt(instance, world.now())
  if (state === 'pending' || state === 'running') return instance
  if (state !== 'stopped') throw wrongState(instance.instance_id, 'started')
  const plan = startPlan(world, { ...instance, start_count: instance.start_count + 1 }, n)
  return { ...instance, ...plan, timeline: replanned(instance.timeline, world.now(), plan.timeline) }
}

function stopped(world: World, instance: SimInstance, force: boolean): SimInstance {
  const state = stateAt(instance, world.now())
  if (state === 'stopped' || (state === 'stopping' && !force)) return instance
  if (state !== 'running' && state !== 'stopping') throw wrongState(instance.instance_id, 'stopped')
  const range = force ? STOPPING_FORCED : STOPPING
  return ending(world, instance, { by: 'stopping', to: 'stopped', range })
}

function terminated(world: World, instance: SimInstance): SimInstance {
  const state = stateAt(instance, world.now())
  if (state === 'shutting-down' || state === 'terminated') return instance
  const dying = ending(world, instance, { by: 'shutting-down', to: 'terminated', range: SHUTTING_DOWN })
  const deadFromMs = dying.timeline.at(-1)?.from_ms ?? world.now()
  return { ...dying, fades_at_ms: deadFromMs + scaled(world, TERMINATED_SHOWN_S) }
}

interface Ending {
  readonly by: StateMoment['state']
  readonly to: StateMoment['state']
  readonly range: SecondsRange
}

function ending(world: World, instance: SimInstance, { by, to, range }: Ending): SimInstance {
  const nowMs = world.now()
  const seconds = within(range, world.chance.fraction(to, instance.number, instance.start_count))
  const future: readonly StateMoment[] = [
    { state: by, from_ms: nowMs, reason: BY_USER },
    { state: to, from_ms: nowMs + scaled(world, seconds), reason: BY_USER },
  ]
  return {
    ...instance,
    timeline: replanned(instance.timeline, nowMs, future),
    boot: replanned(instance.boot, nowMs, [{ stage: 'NOTHING', from_ms: nowMs }]),
  }
}
