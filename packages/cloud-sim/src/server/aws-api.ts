import { Ec2Refusal } from '../ec2/refusal.ts'
import { regionNamed } from '../ec2/regions-and-instance-types.ts'
import { drawDelivery } from '../faults/draw-delivery-fault.ts'
import type { Delivery } from '../faults/fault-injector.ts'
import type { SimModel } from '../sim-model.ts'
import { cloudwatchTarget, performCloudwatch } from './cloudwatch-api.ts'
import { ec2Content } from './ec2-actions.ts'
import { type Ec2Query, parseEc2Query } from './ec2-query.ts'
import { answerXml, errorXml } from './ec2-xml.ts'
import type { RequestLog } from './request-log.ts'

export interface AwsRequest {
  header(name: string): string | null
  /** Decompressed. */
  readonly body: string
}

export interface AwsResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** `lost` breaks the connection instead of responding, `held` responds late. */
  readonly sent: 'now' | 'lost' | 'held'
}

export type AwsApi = (request: AwsRequest) => AwsResponse

/** Result of a service call, before network faults apply. */
export interface Outcome {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly code: string | null
}

/** How one service performs a call and reports errors. */
interface Spoken {
  readonly action: string
  readonly query: Ec2Query | null
  perform(): Outcome
  refuse(error: Ec2Refusal): Outcome
}

/** The protocols of EC2 and CloudWatch on one port. It only translates; the model performs the calls. */
export function awsApi(model: SimModel, journal: RequestLog): AwsApi {
  let requestCount = 0
  return request => {
    requestCount += 1
    const requestId = `00000000-0000-4000-8000-${String(requestCount).padStart(12, '0')}`
    const region = scopeOf(request.header('authorization'))?.region ?? ''
    const target = cloudwatchTarget(request.header('x-amz-target'))
    const call = { model, region, requestId, body: request.body }
    const spoken = target === null ? ec2Call(call) : cloudwatchCall(call, target)
    const { outcome, delivery } = delivered(model, region, spoken)
    journal.add({
      at: new Date(model.now()).toISOString(),
      region,
      action: spoken.action,
      client_token: spoken.query?.text('ClientToken') ?? null,
      instance_ids: spoken.query?.list('InstanceId') ?? [],
      attempt: request.header('amz-sdk-request'),
      invocation_id: request.header('amz-sdk-invocation-id'),
      status: outcome.status,
      code: outcome.code,
      fault: delivery,
    })
    return answerOf(outcome, delivery, requestId)
  }
}

interface Call {
  readonly model: SimModel
  readonly region: string
  readonly requestId: string
  readonly body: string
}

function ec2Call({ model, region, requestId, body }: Call): Spoken {
  const query = parseEc2Query(body)
  const headers = { 'content-type': 'text/xml;charset=UTF-8' }
  const { action } = query
  return {
    action,
    query,
    perform: () => ({
      status: 200,
      code: null,
      headers,
      body: answerXml(action, requestId, ec2Content(model, region, query)),
    }),
    refuse: error => ({ status: error.status, code: error.code, headers, body: errorXml(error, requestId) }),
  }
}

function cloudwatchCall({ model, region, body }: Call, target: string): Spoken {
  const headers = { 'content-type': 'application/x-amz-json-1.0' }
  return {
    action: target,
    query: null,
    perform() {
      const answer = performCloudwatch(model, region, { target, body })
      return { status: 200, code: null, headers, body: JSON.stringify(answer) }
    },
    refuse: ({ status, code, message }) => ({
      status,
      code,
      headers: { ...headers, 'x-amzn-query-error': `${code};${status < 500 ? 'Sender' : 'Receiver'}` },
      body: JSON.stringify({ __type: `com.amazonaws.cloudwatch#${JSON_NAMES[code] ?? code}`, message }),
    }),
  }
}

/** CloudWatch spells some errors differently in JSON. */
const JSON_NAMES: Readonly<Record<string, string>> = {
  Throttling: 'ThrottlingException',
  ValidationError: 'ValidationException',
}

const CREDENTIALS_MISSING = 'AWS was not able to validate the provided access credentials'

function delivered(model: SimModel, region: string, spoken: Spoken): { outcome: Outcome; delivery: Delivery | null } {
  let delivery: Delivery | null = null
  try {
    if (region === '') throw new Ec2Refusal('AuthFailure', CREDENTIALS_MISSING, 401)
    regionNamed(region)
    delivery = drawDelivery(model.faults, spoken.action)
    if (delivery === 'lost_request') return { outcome: NOTHING_DONE, delivery }
    return { outcome: spoken.perform(), delivery }
  } catch (error) {
    if (error instanceof Ec2Refusal) return { outcome: spoken.refuse(error), delivery }
    const message = error instanceof Error ? error.message : String(error)
    return { outcome: spoken.refuse(new Ec2Refusal('InternalError', message, 500)), delivery }
  }
}

const NOTHING_DONE: Outcome = { status: 0, headers: {}, body: '', code: null }

const HTML = '<html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>'

function answerOf(outcome: Outcome, delivery: Delivery | null, requestId: string): AwsResponse {
  const headers = { ...outcome.headers, 'x-amzn-requestid': requestId }
  const whole: AwsResponse = { status: outcome.status, headers, body: outcome.body, sent: 'now' }
  switch (delivery) {
    case null:
      return whole
    case 'lost_request':
    case 'lost_answer':
      return { ...whole, sent: 'lost' }
    case 'held':
      return { ...whole, sent: 'held' }
    case 'empty':
      return { ...whole, status: 200, body: '' }
    case 'truncated':
      return { ...whole, body: outcome.body.slice(0, outcome.body.length >>> 1) }
    case 'html':
      return { ...whole, status: 200, headers: { ...headers, 'content-type': 'text/html' }, body: HTML }
  }
}

/** One port serves every region: the caller's credential scope selects it. Signatures aren't checked. */
export function scopeOf(authorization: string | null): { readonly region: string; readonly service: string } | null {
  const [, region, service] = /Credential=[^/]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/.exec(authorization ?? '') ?? []
  return region === undefined || service === undefined ? null : { region, service }
}
