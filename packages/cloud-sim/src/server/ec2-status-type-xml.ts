import type { ConsoleOutput } from '../ec2/console-output.ts'
import { featuresOf, type TypeOffering } from '../ec2/describe-instance-types.ts'
import { type MachineStatus, reachabilityOf } from '../ec2/describe-status.ts'
import type { ShownTag } from '../ec2/describe-tags.ts'
import type { InstanceType } from '../ec2/regions-and-instance-types.ts'
import { element, leaf, set, stateXml } from './ec2-xml.ts'

export const statusesXml = (statuses: readonly MachineStatus[]): string => set('instanceStatusSet', statuses, statusXml)

function statusXml({ instance, state, checks, event }: MachineStatus): string {
  const details = set(
    'details',
    [reachabilityOf(checks)],
    reached => leaf('name', 'reachability') + leaf('status', reached),
  )
  const summary = leaf('status', checks) + (checks === 'not-applicable' ? '' : details)
  return (
    leaf('instanceId', instance.instance_id) +
    leaf('availabilityZone', instance.availability_zone) +
    stateXml('instanceState', state) +
    element('systemStatus', summary) +
    element('instanceStatus', summary) +
    (event ? set('eventsSet', [event], eventXml) : '')
  )
}

const eventXml = (event: NonNullable<MachineStatus['event']>): string =>
  leaf('instanceEventId', event.event_id) +
  leaf('code', event.code) +
  leaf('description', event.description) +
  leaf('notBefore', new Date(event.not_before_ms).toISOString())

export const typesXml = (types: readonly InstanceType[]): string =>
  set(
    'instanceTypeSet',
    types,
    type =>
      leaf('instanceType', type.name) +
      leaf('currentGeneration', 'true') +
      leaf('bareMetal', String(type.metal)) +
      leaf('hibernationSupported', 'false') +
      element('vCpuInfo', leaf('defaultVCpus', String(type.vcpus))) +
      element('memoryInfo', leaf('sizeInMiB', String(type.memory_gib * 1024))) +
      element(
        'processorInfo',
        element(
          'supportedFeatures',
          featuresOf(type)
            .map(name => leaf('item', name))
            .join(''),
        ),
      ),
  )

export const offeringsXml = (offerings: readonly TypeOffering[]): string =>
  set(
    'instanceTypeOfferingSet',
    offerings,
    offering =>
      leaf('instanceType', offering.instance_type) +
      leaf('locationType', offering.location_type) +
      leaf('location', offering.location),
  )

export const tagsXml = (tags: readonly ShownTag[]): string =>
  set(
    'tagSet',
    tags,
    tag =>
      leaf('resourceId', tag.resource_id) +
      leaf('resourceType', 'instance') +
      leaf('key', tag.key) +
      leaf('value', tag.value),
  )

export const consoleXml = (output: ConsoleOutput | null): string =>
  output === null
    ? ''
    : leaf('instanceId', output.instance_id) +
      leaf('timestamp', new Date(output.at_ms).toISOString()) +
      leaf('output', Buffer.from(output.text).toString('base64'))
