import { Ec2Refusal } from '../ec2/refusal.ts'
import { REGIONS } from '../ec2/regions-and-instance-types.ts'
import type { RunRequest } from '../ec2/run-instances.ts'
import type { Tags } from '../ec2/tags.ts'
import type { SimModel } from '../sim-model.ts'
import type { Ec2Query } from './ec2-query.ts'
import { consoleXml, offeringsXml, statusesXml, tagsXml, typesXml } from './ec2-status-type-xml.ts'
import {
  changesXml,
  done,
  imagesXml,
  nextTokenXml,
  regionsXml,
  reservationsXml,
  reservationXml,
  subnetsXml,
} from './ec2-xml.ts'

type Serving = Pick<SimModel, 'ec2Api' | 'admit'>
type Action = (model: Serving, region: string, query: Ec2Query) => string

const ACTIONS: Readonly<Record<string, Action>> = {
  RunInstances: ({ ec2Api }, region, query) => reservationXml(ec2Api.runInstances(region, runRequest(query))),
  DescribeInstances({ ec2Api }, region, query) {
    const page = ec2Api.describeInstances(region, { instance_ids: query.list('InstanceId'), ...filteredPage(query) })
    return reservationsXml(page.items) + nextTokenXml(page.next_token)
  },
  DescribeInstanceStatus({ ec2Api }, region, query) {
    const wanted = { instance_ids: query.list('InstanceId'), include_all: query.flag('IncludeAllInstances') }
    const page = ec2Api.describeInstanceStatus(region, { ...wanted, ...filteredPage(query) })
    return statusesXml(page.items) + nextTokenXml(page.next_token)
  },
  DescribeImages({ ec2Api }, region, query) {
    const wanted = { image_ids: query.list('ImageId'), owners: query.list('Owner') }
    const page = ec2Api.describeImages(region, { ...wanted, ...filteredPage(query) })
    return imagesXml(page.items) + nextTokenXml(page.next_token)
  },
  DescribeInstanceTypes({ ec2Api }, region, query) {
    const page = ec2Api.describeInstanceTypes(region, { names: query.list('InstanceType'), ...filteredPage(query) })
    return typesXml(page.items) + nextTokenXml(page.next_token)
  },
  DescribeInstanceTypeOfferings({ ec2Api }, region, query) {
    const wanted = { location_type: query.text('LocationType'), ...filteredPage(query) }
    const page = ec2Api.describeInstanceTypeOfferings(region, wanted)
    return offeringsXml(page.items) + nextTokenXml(page.next_token)
  },
  DescribeTags({ ec2Api }, region, query) {
    const page = ec2Api.describeTags(region, filteredPage(query))
    return tagsXml(page.items) + nextTokenXml(page.next_token)
  },
  StartInstances: ({ ec2Api }, region, query) => changesXml(ec2Api.startInstances(region, named(query))),
  StopInstances({ ec2Api }, region, query) {
    if (query.flag('Hibernate')) throw new Ec2Refusal('UnsupportedHibernationConfiguration', NO_HIBERNATION)
    return changesXml(ec2Api.stopInstances(region, { ...named(query), force: query.flag('Force') }))
  },
  TerminateInstances: ({ ec2Api }, region, query) => changesXml(ec2Api.terminateInstances(region, named(query))),
  RebootInstances({ ec2Api }, region, query) {
    ec2Api.rebootInstances(region, named(query))
    return done
  },
  ModifyInstanceAttribute({ ec2Api }, region, query) {
    const flag = (name: string) => (query.text(name) === null ? null : query.flag(name))
    ec2Api.modifyInstanceAttribute(region, {
      instance_id: required(query, 'InstanceId'),
      disable_api_termination: flag('DisableApiTermination.Value'),
      disable_api_stop: flag('DisableApiStop.Value'),
      instance_type: query.text('InstanceType.Value'),
    })
    return done
  },
  GetConsoleOutput: ({ ec2Api }, region, query) =>
    consoleXml(ec2Api.getConsoleOutput(region, { instance_id: required(query, 'InstanceId') })),
  CreateTags({ ec2Api }, region, query) {
    ec2Api.createTags(region, { ids: taggedIds(query), tags: tagsUnder(query, 'Tag') })
    return done
  },
  DeleteTags({ ec2Api }, region, query) {
    ec2Api.deleteTags(region, { ids: taggedIds(query), tags: query.pairs('Tag') })
    return done
  },
  DescribeSubnets: ({ ec2Api }, region, query) =>
    subnetsXml(ec2Api.describeSubnets(region, { subnet_ids: query.list('SubnetId') })),
  DescribeRegions: () => regionsXml(REGIONS),
}

const NO_HIBERNATION = 'The specified instance type or configuration does not support hibernation.'

/** Content of the response inside the element of the action. */
export function ec2Content(model: Serving, region: string, query: Ec2Query): string {
  const action = Object.hasOwn(ACTIONS, query.action) ? ACTIONS[query.action] : undefined
  if (!action) throw new Ec2Refusal('InvalidAction', `The action ${query.action} is not valid for this web service.`)
  if (query.flag('DryRun')) {
    // A dry run costs as many tokens as the call itself.
    model.admit({ region, action: query.action, request: {} })
    throw new Ec2Refusal('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412)
  }
  return action(model, region, query)
}

const filteredPage = (query: Ec2Query) => ({
  filters: query.filters(),
  max_results: query.number('MaxResults'),
  next_token: query.text('NextToken'),
})

const named = (query: Ec2Query) => {
  const ids = query.list('InstanceId')
  if (ids.length === 0) throw missing('InstanceId')
  if (ids.length > IDS_MAX) throw tooMany(ids.length)
  return { ids }
}

const IDS_MAX = 1000
const tooMany = (count: number) =>
  new Ec2Refusal('InvalidParameterValue', `At most ${IDS_MAX} resources may be named in one request, not ${count}`)

function taggedIds(query: Ec2Query): readonly string[] {
  const ids = query.list('ResourceId')
  if (ids.length === 0) throw missing('resourceIdSet')
  if (ids.length > IDS_MAX) throw tooMany(ids.length)
  return ids
}

const missing = (name: string) => new Ec2Refusal('MissingParameter', `The request must contain the parameter ${name}`)

function required(query: Ec2Query, name: string): string {
  const value = query.text(name)
  if (value === null) throw missing(name)
  return value
}

function runRequest(query: Ec2Query): RunRequest {
  const count = query.number('MaxCount') ?? 1
  return {
    image_id: required(query, 'ImageId'),
    instance_type: required(query, 'InstanceType'),
    ...networkIn(query),
    client_token: query.text('ClientToken'),
    count,
    min_count: query.number('MinCount') ?? count,
    user_data: query.text('UserData'),
    disable_api_termination: query.flag('DisableApiTermination'),
    disable_api_stop: query.flag('DisableApiStop'),
    metadata_tags: query.text('MetadataOptions.InstanceMetadataTags') === 'enabled',
    nested_virtualization: query.text('CpuOptions.NestedVirtualization') === 'enabled',
    tags: instanceTags(query),
    canonical: query.canonical(),
  }
}

/** The subnet is named in one place: in the interface if the request sets the address option. */
function networkIn(query: Ec2Query): Pick<RunRequest, 'subnet_id' | 'has_public_address'> {
  const subnet_id = query.text('SubnetId')
  const ofInterface = query.text('NetworkInterface.1.SubnetId')
  if (subnet_id !== null && ofInterface !== null) throw new Ec2Refusal('InvalidParameterCombination', TWO_SUBNETS)
  const has_public_address = query.text('NetworkInterface.1.AssociatePublicIpAddress') !== 'false'
  return { subnet_id: subnet_id ?? ofInterface, has_public_address }
}

const TWO_SUBNETS = 'Network interfaces and an instance-level subnet ID may not be specified on the same request'

function instanceTags(query: Ec2Query): Tags {
  let tags: Tags = {}
  for (let n = 1; query.text(`TagSpecification.${n}.ResourceType`) !== null; n++) {
    if (query.text(`TagSpecification.${n}.ResourceType`) !== 'instance') continue
    tags = { ...tags, ...tagsUnder(query, `TagSpecification.${n}.Tag`) }
  }
  return tags
}

const tagsUnder = (query: Ec2Query, prefix: string): Tags =>
  Object.fromEntries(query.pairs(prefix).map(({ key, value }) => [key, value ?? '']))
