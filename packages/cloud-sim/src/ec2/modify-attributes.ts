import type { SimState } from '../sim-state.ts'
import { type SimInstance, stateAt } from './instance.ts'
import { namedInstances } from './power.ts'
import { Ec2Refusal } from './refusal.ts'
import { checkOffered } from './regions-and-instance-types.ts'

/** Changes of ModifyInstanceAttribute; null keeps the current value. */
export interface AttributeChange {
  readonly instance_id: string
  readonly disable_api_termination: boolean | null
  readonly disable_api_stop: boolean | null
  /** Allowed only while the machine is stopped. */
  readonly instance_type: string | null
}

export function modifyAttributes(sim: SimState, region: string, change: AttributeChange): void {
  for (const instance of namedInstances(sim, region, [change.instance_id])) {
    sim.commit({ instances: [modified(sim, instance, change)] })
  }
}

function modified(sim: SimState, instance: SimInstance, change: AttributeChange): SimInstance {
  if (change.instance_type !== null) {
    if (stateAt(instance, sim.now()) !== 'stopped') throw notStopped(instance.instance_id)
    checkOffered(change.instance_type, instance.availability_zone, false)
  }
  return {
    ...instance,
    disable_api_termination: change.disable_api_termination ?? instance.disable_api_termination ?? false,
    disable_api_stop: change.disable_api_stop ?? instance.disable_api_stop ?? false,
    instance_type: change.instance_type ?? instance.instance_type,
  }
}

const notStopped = (instanceId: string) =>
  new Ec2Refusal('IncorrectInstanceState', `The instance '${instanceId}' is not in the 'stopped' state.`)
