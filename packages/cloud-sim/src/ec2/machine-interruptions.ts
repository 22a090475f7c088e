import type { SimState } from '../sim-state.ts'
import { replan } from '../state-timeline.ts'
import { bootPlan } from './boot-plan.ts'
import { type SimInstance, stateAt } from './instance.ts'
import { namedInstances } from './power.ts'
import { Ec2Refusal, wrongState } from './refusal.ts'
import { isMetal } from './regions-and-instance-types.ts'
import { DEATHS_IN_PENDING, fading, retirementPlan, scaled } from './start-plan.ts'

/** RebootInstances: the machine stays running, but doesn't respond for a while. */
export function rebootInstances(sim: SimState, region: string, ids: readonly string[]): void {
  const instances = namedInstances(sim, region, ids)
  const idle = instances.find(instance => stateAt(instance, sim.now()) !== 'running')
  if (idle) throw wrongState(idle.instance_id, 'rebooted')
  sim.commit({ instances: instances.map(instance => rebooted(sim, instance)) })
}

function rebooted(sim: SimState, instance: SimInstance): SimInstance {
  const nowMs = sim.now()
  return { ...instance, rebooted_at_ms: nowMs, boot: replan(instance.boot, nowMs, restartBoot(sim, instance, nowMs)) }
}

const restartBoot = (sim: SimState, { instance_type, number }: SimInstance, nowMs: number): SimInstance['boot'] =>
  bootPlan({
    running_from_ms: nowMs,
    metal: isMetal(instance_type),
    first: false,
    speed: sim.speed,
    fraction: step => sim.chance.fraction('reboot', number, nowMs, step),
  })

/**
 * A reboot from inside the guest: EC2 shows nothing, and the labs stop. CML is up again after this many simulated seconds; with
 * null, after a usual boot.
 */
export function rebootInside(sim: SimState, instance: SimInstance, downS: number | null): void {
  const nowMs = sim.now()
  if (stateAt(instance, nowMs) !== 'running') throw wrongState(instance.instance_id, 'rebooted')
  const quick: SimInstance['boot'] = [
    { stage: 'NOTHING', from_ms: nowMs },
    { stage: 'READY', from_ms: nowMs + Math.max(1, scaled(sim, downS ?? 0)) },
  ]
  const boot = downS === null ? restartBoot(sim, instance, nowMs) : quick
  sim.commit({ instances: [{ ...instance, boot: replan(instance.boot, nowMs, boot) }] })
}

/** EC2 announces that it will stop the machine, and stops it after this many simulated seconds. */
export function retire(sim: SimState, instance: SimInstance, afterS: number): void {
  if (stateAt(instance, sim.now()) !== 'running') {
    throw new Ec2Refusal('IncorrectInstanceState', `${instance.instance_id} is not running, so it cannot be retired`)
  }
  const atMs = sim.now() + scaled(sim, afterS)
  sim.commit({ instances: [{ ...instance, ...retirementPlan(sim, instance, Math.max(atMs, sim.now() + 1)) }] })
}

/** The launched machine terminates before it runs. */
export function killInPending(sim: SimState, instance: SimInstance): void {
  const nowMs = sim.now()
  if (stateAt(instance, nowMs) !== 'pending') {
    throw new Ec2Refusal('IncorrectInstanceState', `${instance.instance_id} is no longer pending`)
  }
  const dead = { state: 'terminated', from_ms: nowMs, reason: DEATHS_IN_PENDING[0] ?? null } as const
  const killed: SimInstance = {
    ...instance,
    ...fading(sim, nowMs),
    timeline: replan(instance.timeline, nowMs, [dead]),
    boot: [{ stage: 'NOTHING', from_ms: nowMs }],
  }
  sim.commit({ instances: [killed] })
}
