import { Ec2Refusal, invalidValue } from './refusal.ts'

/** Account of the simulated cloud: `self` in its image catalog. */
export const ACCOUNT_ID = '123456789012'

export interface Subnet {
  readonly subnet_id: string
  readonly availability_zone: string
  readonly vpc_id: string
}

export interface Region {
  readonly name: string
  readonly subnets: readonly Subnet[]
}

const ZONE_LETTERS = ['a', 'b', 'c'] as const

const region = (name: string, short: string): Region => ({
  name,
  subnets: ZONE_LETTERS.map(letter => ({
    subnet_id: `subnet-${short}${letter}`,
    availability_zone: `${name}${letter}`,
    vpc_id: `vpc-${short}`,
  })),
})

export const REGIONS: readonly Region[] = [
  region('us-east-1', 'use1'),
  region('us-west-2', 'usw2'),
  region('eu-west-1', 'euw1'),
]

export interface InstanceType {
  readonly name: string
  readonly metal: boolean
  readonly vcpus: number
  readonly memory_gib: number
  readonly nested_virtualization: boolean
  /** Not every zone offers bare metal. */
  readonly zone_letters: readonly string[]
}

export const INSTANCE_TYPES: readonly InstanceType[] = [
  {
    name: 'm5zn.metal',
    metal: true,
    vcpus: 48,
    memory_gib: 192,
    nested_virtualization: false,
    zone_letters: ['a', 'b'],
  },
  {
    name: 'c5.metal',
    metal: true,
    vcpus: 96,
    memory_gib: 192,
    nested_virtualization: false,
    zone_letters: ZONE_LETTERS,
  },
  {
    name: 'm5.metal',
    metal: true,
    vcpus: 96,
    memory_gib: 384,
    nested_virtualization: false,
    zone_letters: ZONE_LETTERS,
  },
  {
    name: 'm8i.4xlarge',
    metal: false,
    vcpus: 16,
    memory_gib: 64,
    nested_virtualization: true,
    zone_letters: ZONE_LETTERS,
  },
  {
    name: 'm8i.12xlarge',
    metal: false,
    vcpus: 48,
    memory_gib: 192,
    nested_virtualization: true,
    zone_letters: ZONE_LETTERS,
  },
  {
    name: 'c5.2xlarge',
    metal: false,
    vcpus: 8,
    memory_gib: 16,
    nested_virtualization: false,
    zone_letters: ZONE_LETTERS,
  },
]

export function regionNamed(name: string): Region {
  const found = REGIONS.find(candidate => candidate.name === name)
  if (!found) throw new Ec2Refusal('AuthFailure', 'Credential should be scoped to a valid region.', 401)
  return found
}

export const vcpusOf = (typeName: string): number => INSTANCE_TYPES.find(type => type.name === typeName)?.vcpus ?? 1

export const isOffered = (typeName: string, zone: string): boolean =>
  INSTANCE_TYPES.some(type => type.name === typeName && type.zone_letters.includes(zone.slice(-1)))

/** Without a subnet EC2 chooses a default one, preferably in a suitable zone. */
export function subnetOf(regionName: string, subnetId: string | null, suits = (_: Subnet): boolean => true): Subnet {
  const { subnets } = regionNamed(regionName)
  const found =
    subnetId === null ? (subnets.find(suits) ?? subnets[0]) : subnets.find(subnet => subnet.subnet_id === subnetId)
  if (!found) throw new Ec2Refusal('InvalidSubnetID.NotFound', `The subnet ID '${subnetId}' does not exist`)
  return found
}

export function describeSubnets(regionName: string, subnetIds: readonly string[]): readonly Subnet[] {
  if (subnetIds.length === 0) return regionNamed(regionName).subnets
  return subnetIds.map(id => subnetOf(regionName, id))
}

export const isMetal = (typeName: string): boolean => INSTANCE_TYPES.some(type => type.name === typeName && type.metal)

/** Rejects a type that is unknown, not offered in the zone, or lacks a requested feature. */
export function checkOffered(typeName: string, zone: string, nestedVirtualization: boolean): void {
  const type = INSTANCE_TYPES.find(candidate => candidate.name === typeName)
  if (!type) throw invalidValue(`Invalid value '${typeName}' for InstanceType.`)
  if (!type.zone_letters.includes(zone.slice(-1))) throw notOffered(type, zone)
  if (nestedVirtualization && !type.nested_virtualization) {
    const message = `The instance type '${typeName}' does not support nested virtualization.`
    throw new Ec2Refusal('UnsupportedOperation', message)
  }
}

function notOffered(type: InstanceType, zone: string): Ec2Refusal {
  const zones = type.zone_letters.map(letter => zone.slice(0, -1) + letter)
  return new Ec2Refusal(
    'Unsupported',
    `Your requested instance type (${type.name}) is not supported in your requested Availability Zone (${zone}). ` +
      `Please retry your request by not specifying an Availability Zone or choosing ${zones.join(', ')}.`,
  )
}
