import { type SimInstance, stateAt } from '../ec2/instance.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import { INSTANCE_TYPES, regionNamed, vcpusOf } from '../ec2/regions-and-instance-types.ts'
import type { SimState } from '../sim-state.ts'
import { type CapacityShortage, sameOffering } from './fault-injector.ts'

type Offering = Omit<CapacityShortage, 'available'>

/** Duration of a random capacity shortage. */
const SHORTAGE_S = 180

/** Number of machines of the type that still fit into the zone. */
export function freeCapacityFor(sim: SimState, offering: Offering): number {
  const shortage = sim.faults.state().scarce.find(each => sameOffering(each, offering))
  if (shortage) return shortage.available
  const { capacity_error_rate: rate } = sim.faults.plan()
  if (rate === 0) return Number.POSITIVE_INFINITY
  const window = Math.floor((sim.now() * sim.speed) / (SHORTAGE_S * 1000))
  const { availability_zone, instance_type } = offering
  const drawn = sim.chance.fraction('shortage', availability_zone, instance_type, window)
  return drawn < rate ? 0 : Number.POSITIVE_INFINITY
}

/** EC2's message, which names the zones that have capacity. */
export function noCapacity(sim: SimState, region: string, { availability_zone, instance_type }: Offering): Ec2Refusal {
  const type = INSTANCE_TYPES.find(candidate => candidate.name === instance_type)
  const zones = regionNamed(region)
    .subnets.map(subnet => subnet.availability_zone)
    .filter(zone => zone !== availability_zone && type?.zone_letters.includes(zone.slice(-1)))
    .filter(zone => freeCapacityFor(sim, { availability_zone: zone, instance_type }) > 0)
  const choosing = `by not specifying an Availability Zone in your request or choosing ${zones.join(', ')}.`
  const elsewhere = zones.length === 0 ? '' : ` You can currently get ${instance_type} capacity ${choosing}`
  return new Ec2Refusal(
    'InsufficientInstanceCapacity',
    `We currently do not have sufficient ${instance_type} capacity in the Availability Zone you requested ` +
      `(${availability_zone}). Our system will be working on provisioning additional capacity.${elsewhere}`,
    500,
  )
}

/** Stopping machines still count: EC2 is slow to release quota. */
const COUNTED: readonly string[] = ['pending', 'running', 'stopping', 'shutting-down']

/** Number of machines of the type that the region's quota still allows. */
export function quotaFor(sim: SimState, region: string, instanceType: string): number {
  const { vcpu_limit: limit } = sim.faults.plan()
  if (limit === null) return Number.POSITIVE_INFINITY
  const used = sim
    .instancesIn(region)
    .filter((instance: SimInstance) => COUNTED.includes(stateAt(instance, sim.now())))
    .reduce((sum, instance) => sum + vcpusOf(instance.instance_type), 0)
  return Math.max(0, Math.floor((limit - used) / vcpusOf(instanceType)))
}

export function overQuota(sim: SimState): Ec2Refusal {
  return new Ec2Refusal(
    'VcpuLimitExceeded',
    `You have requested more vCPU capacity than your current vCPU limit of ${sim.faults.plan().vcpu_limit} allows for ` +
      'the instance bucket that the specified instance type belongs to. Please visit ' +
      'http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.',
  )
}
