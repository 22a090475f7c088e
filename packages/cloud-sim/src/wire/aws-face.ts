import type { RunRequest } from '../ec2/launch.ts'
import { REGIONS, regionNamed } from '../ec2/places.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { Tags } from '../ec2/tags.ts'
import type { SimModel } from '../model.ts'
import { type Ec2Query, parseEc2Query } from './ec2-query.ts'
import {
  answerXml,
  changesXml,
  done,
  errorXml,
  imagesXml,
  nextTokenXml,
  regionsXml,
  reservationsXml,
  reservationXml,
  subnetsXml,
} from './ec2-xml.ts'
import type { Journal } from './journal.ts'

export interface AwsRequest {
  header(name: string): string | null
  readonly body: string
}

export interface AwsAnswer {
  readonly status: number
  readonly request_id: string
  readonly xml: string
}

export type AwsFace = (request: AwsRequest) => AwsAnswer

type Action = (model: SimModel, region: string, query: Ec2Query) => string

const ACTIONS: Readonly<Record<string, Action>> = {
  RunInstances: ({ ec2 }, region, query) => reservationXml(ec2.runInstances(region, runRequest(query))),
  DescribeInstances({ ec2 }, region, query) {
    const page = ec2.describeInstances(region, {
      instance_ids: query.list('InstanceId'),
      filters: query.filters(),
      max_results: query.number('MaxResults'),
      next_token: query.text('NextToken'),
    })
    return reservationsXml(page.items) + nextTokenXml(page.next_token)
  },
  DescribeImages({ ec2 }, region, query) {
    const page = ec2.describeImages(region, {
      image_ids: query.list('ImageId'),
      owners: query.list('Owner'),
      filters: query.filters(),
      max_results: query.number('MaxResults'),
      next_token: query.text('NextToken'),
    })
    return imagesXml(page.items) + nextTokenXml(page.next_token)
  },
  StartInstances: ({ ec2 }, region, query) => changesXml(ec2.startInstances(region, named(query))),
  StopInstances: ({ ec2 }, region, query) =>
    changesXml(ec2.stopInstances(region, { ...named(query), force: query.flag('Force') })),
  TerminateInstances: ({ ec2 }, region, query) => changesXml(ec2.terminateInstances(region, named(query))),
  CreateTags({ ec2 }, region, query) {
    ec2.createTags(region, { ids: query.list('ResourceId'), tags: tagsUnder(query, 'Tag') })
    return done
  },
  DeleteTags({ ec2 }, region, query) {
    ec2.deleteTags(region, { ids: query.list('ResourceId'), tags: query.pairs('Tag') })
    return done
  },
  DescribeSubnets: ({ ec2 }, region, query) =>
    subnetsXml(ec2.describeSubnets(region, { subnet_ids: query.list('SubnetId') })),
  DescribeRegions: () => regionsXml(REGIONS),
}

/** EC2's query protocol: it only translates. What a call means is the model's business. */
export function awsFace(model: SimModel, journal: Journal): AwsFace {
  let requestCount = 0
  return request => {
    requestCount += 1
    const request_id = `00000000-0000-4000-8000-${String(requestCount).padStart(12, '0')}`
    const region = scopeOf(request.header('authorization'))?.region ?? ''
    const query = parseEc2Query(request.body)
    const outcome = performed(model, region, query)
    journal.add({
      at: new Date(model.now()).toISOString(),
      region,
      action: query.action,
      client_token: query.text('ClientToken'),
      instance_ids: query.list('InstanceId'),
      attempt: request.header('amz-sdk-request'),
      invocation_id: request.header('amz-sdk-invocation-id'),
      status: outcome.status,
      code: outcome.error?.code ?? null,
    })
    const xml = outcome.error
      ? errorXml(outcome.error, request_id)
      : answerXml(query.action, request_id, outcome.content)
    return { status: outcome.status, request_id, xml }
  }
}

interface Outcome {
  readonly status: number
  readonly content: string
  readonly error: { readonly code: string; readonly message: string } | null
}

function performed(model: SimModel, region: string, query: Ec2Query): Outcome {
  try {
    if (region === '') throw new Ec2Refusal('AuthFailure', CREDENTIALS_MISSING, 401)
    regionNamed(region)
    return { status: 200, content: actionOf(query)(model, region, query), error: null }
  } catch (error) {
    if (error instanceof Ec2Refusal) return { status: error.status, content: '', error }
    const message = error instanceof Error ? error.message : String(error)
    return { status: 500, content: '', error: { code: 'InternalError', message } }
  }
}

const CREDENTIALS_MISSING = 'AWS was not able to validate the provided access credentials'

function actionOf(query: Ec2Query): Action {
  const action = Object.hasOwn(ACTIONS, query.action) ? ACTIONS[query.action] : undefined
  if (!action) throw new Ec2Refusal('InvalidAction', `The action ${query.action} is not valid for this web service.`)
  if (query.flag('DryRun')) {
    throw new Ec2Refusal('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412)
  }
  return action
}

/** One port serves every region: the caller's credential scope says which one is meant. Signatures are not checked. */
export function scopeOf(authorization: string | null): { readonly region: string; readonly service: string } | null {
  const [, region, service] = /Credential=[^/]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/.exec(authorization ?? '') ?? []
  return region === undefined || service === undefined ? null : { region, service }
}

const named = (query: Ec2Query) => {
  const ids = query.list('InstanceId')
  if (ids.length === 0) throw missing('InstanceId')
  return { ids }
}

const missing = (name: string) => new Ec2Refusal('MissingParameter', `The request must contain the parameter ${name}`)

function runRequest(query: Ec2Query): RunRequest {
  const required = (name: string): string => {
    const value = query.text(name)
    if (value === null) throw missing(name)
    return value
  }
  return {
    image_id: required('ImageId'),
    instance_type: required('InstanceType'),
    subnet_id: query.text('SubnetId'),
    client_token: query.text('ClientToken'),
    count: query.number('MaxCount') ?? 1,
    nested_virtualization: query.text('CpuOptions.NestedVirtualization') === 'enabled',
    tags: instanceTags(query),
    canonical: query.canonical(),
  }
}

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
