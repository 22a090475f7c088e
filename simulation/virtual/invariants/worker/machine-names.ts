import type { SimModel } from '@lcm/cloud-sim/sim-model'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'

/** Live machines of the fleet whose tag `Name` is not the name of their worker. A settled fleet has none. */
export function misnamedMachines(cloud: SimModel, fleet: string, workers: Iterable<Worker>): string[] {
  return [...workers].flatMap(({ name, origin, status, ec2_instance_id: id }) => {
    const machine = id === null || status === 'TERMINATED' || origin === 'DISCOVERY' ? null : cloud.machine(id)
    if (machine === null || machine.tags[TAG.fleet] !== fleet) return []
    if (machine.state === 'terminated' || machine.state === 'shutting-down') return []
    const named = machine.tags[TAG.name]
    return named === name ? [] : [`${id} is named ${named}, and its worker ${name}`]
  })
}
