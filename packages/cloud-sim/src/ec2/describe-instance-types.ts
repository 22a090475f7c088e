import { type Filter, filterTest, type Page, type PageRequest, pageOf } from './filters-and-paging.ts'
import { Ec2Refusal, invalidValue } from './refusal.ts'
import { INSTANCE_TYPES, type InstanceType, isOffered, regionNamed } from './regions-and-instance-types.ts'

export interface TypesQuery extends PageRequest {
  readonly names: readonly string[]
  readonly filters: readonly Filter[]
}

export function describeTypes(region: string, query: TypesQuery): Page<InstanceType> {
  regionNamed(region)
  const unknown = query.names.filter(name => !INSTANCE_TYPES.some(type => type.name === name))
  if (unknown.length > 0) {
    throw new Ec2Refusal(
      'InvalidInstanceType',
      `The following supplied instance types do not exist: [${unknown.join(', ')}]`,
    )
  }
  const test = filterTest(query.filters)
  const found = INSTANCE_TYPES.filter(
    type => (query.names.length === 0 || query.names.includes(type.name)) && test(name => typeValues(type, name)),
  )
  return pageOf(found, type => INSTANCE_TYPES.indexOf(type), query)
}

export const featuresOf = (type: InstanceType): readonly string[] =>
  type.nested_virtualization ? ['nested-virtualization'] : []

function typeValues(type: InstanceType, filterName: string): readonly string[] | null {
  switch (filterName) {
    case 'instance-type':
      return [type.name]
    case 'bare-metal':
      return [String(type.metal)]
    case 'hibernation-supported':
      return ['false']
    case 'processor-info.supported-features':
      return featuresOf(type)
    case 'vcpu-info.default-vcpus':
      return [String(type.vcpus)]
    case 'memory-info.size-in-mib':
      return [String(type.memory_gib * 1024)]
    default:
      return null
  }
}

export interface OfferingsQuery extends PageRequest {
  readonly location_type: string | null
  readonly filters: readonly Filter[]
}

export interface TypeOffering {
  readonly instance_type: string
  readonly location_type: string
  readonly location: string
}

export function describeOfferings(region: string, query: OfferingsQuery): Page<TypeOffering> {
  const test = filterTest(query.filters)
  const all = offeringsIn(region, query.location_type ?? 'region')
  const found = all.filter(offering => test(name => offeringValues(offering, name)))
  return pageOf(found, offering => all.indexOf(offering), query)
}

function offeringsIn(region: string, location_type: string): readonly TypeOffering[] {
  const { subnets } = regionNamed(region)
  if (location_type === 'region') {
    return INSTANCE_TYPES.map(type => ({ instance_type: type.name, location_type, location: region }))
  }
  if (location_type !== 'availability-zone') throw invalidValue(`Invalid value '${location_type}' for locationType.`)
  return INSTANCE_TYPES.flatMap(({ name }) =>
    subnets
      .filter(subnet => isOffered(name, subnet.availability_zone))
      .map(subnet => ({ instance_type: name, location_type, location: subnet.availability_zone })),
  )
}

function offeringValues(offering: TypeOffering, filterName: string): readonly string[] | null {
  if (filterName === 'instance-type') return [offering.instance_type]
  return filterName === 'location' ? [offering.location] : null
}
