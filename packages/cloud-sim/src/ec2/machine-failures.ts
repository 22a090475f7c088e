import type { SimState } from '../sim-state.ts'
import { replan } from '../state-timeline.ts'
import { bootPlan } from './boot.ts'
import { type SimInstance, stateAt } from './instance.ts'
import { namedInstances } from './power.ts'
import { Ec2Refusal, wrongState } from './refusal.ts'
import { isMetal } from './regions.ts'
import { DEATHS_IN_PENDING, fading, retirementPlan, scaled } from './start-plan.ts'

/** RebootInstances: the machine stays running, but nothing on it answers for a while. */
export function rebootInstances(world: SimState, region: string, ids: readonly string[]): void {
  const instances = namedInstances(world, region, ids)
  const idle = instances.find(instance => stateAt(instance, world.now()) !== 'running')
  if (idle) throw wrongState(idle.instance_id, 'rebooted')
  world.commit({ instances: instances.map(instance => rebooted(world, instance)) })
}

function rebooted(world: SimState, instance: SimInstance): SimInstance {
  const nowMs = world.now()
  const boot = bootPlan({
    running_from_ms: nowMs,
    metal: isMetal(instance.instance_type),
    first: false,
    speed: world.speed,
    fraction: step => world.chance.fraction('reboot', instance.number, nowMs, step),
  })
  return { ...instance, rebooted_at_ms: nowMs, boot: replan(instance.boot, nowMs, boot) }
}

/** EC2 announces that it will stop the machine, and does so after these seconds of its time. */
export function retire(world: SimState, instance: SimInstance, afterS: number): void {
  if (stateAt(instance, world.now()) !== 'running') {
    throw new Ec2Refusal('IncorrectInstanceState', `${instance.instance_id} is not running, so it can not be retired`)
  }
  const atMs = world.now() + scaled(world, afterS)
  world.commit({ instances: [{ ...instance, ...retirementPlan(world, instance, Math.max(atMs, world.now() + 1)) }] })
}

/** The machine of a launch that was answered dies before it runs. */
export function killInPending(world: SimState, instance: SimInstance): void {
  const nowMs = world.now()
  if (stateAt(instance, nowMs) !== 'pending') {
    throw new Ec2Refusal('IncorrectInstanceState', `${instance.instance_id} is no longer pending`)
  }
  const dead = { state: 'terminated', from_ms: nowMs, reason: DEATHS_IN_PENDING[0] ?? null } as const
  const killed: SimInstance = {
    ...instance,
    ...fading(world, nowMs),
    timeline: replan(instance.timeline, nowMs, [dead]),
    boot: [{ stage: 'NOTHING', from_ms: nowMs }],
  }
  world.commit({ instances: [killed] })
}
