import { type CmlAddress, endpointOf } from './endpoint.ts'
import type { Instance } from './instance.ts'
import type { Worker, WorkerChanges } from './worker.ts'

export const isDead = (instance: Instance): boolean =>
  instance.state === 'shutting-down' || instance.state === 'terminated'

/** What the record must say of this machine, as far as it says something else: addresses change with every start. */
export function factsOf(worker: Worker, instance: Instance, by: CmlAddress): WorkerChanges {
  const facts = {
    instance_type: instance.instance_type,
    ami_id: instance.image_id,
    availability_zone: instance.availability_zone,
    public_ip: instance.public_ip,
    private_ip: instance.private_ip,
    https_endpoint: endpointOf(instance, by),
  }
  return Object.fromEntries(
    Object.entries(facts).filter(([name, value]) => worker[name as keyof typeof facts] !== value),
  )
}

export const isEmpty = (changes: WorkerChanges): boolean => Object.keys(changes).length === 0
