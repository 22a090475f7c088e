import { inspect } from 'node:util'
import type { Compute } from '@lcm/cloud/compute'
import { CloudError } from '@lcm/cloud/errors'
import { manualClock } from '@lcm/testkit/manual-clock'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { awsMetrics } from './cloudwatch/machine-metrics.ts'
import { MEASURES } from './cloudwatch/metric-queries.ts'
import { awsCompute } from './ec2/compute.ts'
import {
  IMAGES_XML,
  LAUNCHED_XML,
  MACHINES_XML,
  METRICS_JSON,
  METRICS_NOW_MS,
  POWERED_XML,
  REFUSED_XML,
} from './testing/aws-response-fixtures.ts'
import { type Answer, type Endpoint, scriptedEndpoint } from './testing/scripted-endpoint.ts'

const REGION = 'us-east-1'
const RUNS = 120
const never = new AbortController().signal

let given: Answer = null
let endpoint: Endpoint
let compute: ReturnType<typeof awsCompute>
let metrics: ReturnType<typeof awsMetrics>
beforeEach(async () => {
  endpoint = await scriptedEndpoint(() => given)
  const clock = manualClock(METRICS_NOW_MS)
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' }
  compute = awsCompute({ clock, endpoint: endpoint.url, credentials })
  metrics = awsMetrics({ clock, endpoint: endpoint.url, credentials })
})
afterEach(async () => {
  compute.close()
  metrics.close()
  await endpoint.close()
})

/** Characters with a meaning in XML, numbers, dates or JavaScript. */
const SIGNS = [
  ...['<', '>', '</', '/>', '<item>', '</item>', '<item/>', '<a b="c">', '<nextToken>x</nextToken>'],
  ...['&', '&lt;', '&x;', '&#0;', '&#x110000;', '&#xd800;', '&amp;amp;', '<!DOCTYPE a [<!ENTITY x "y">]>'],
  ...['<![CDATA[', ']]>', '<!--', '-->', '<?xml version="1.0"?>', '<?', '\u0000', '\ufeff', '\ud800', '🦊'],
  ...['9'.repeat(400), '1e999', '-1', 'NaN', 'true', 'null', '2026-13-45T99:99:99Z', '+275760-09-13T00:00:00.001Z'],
  ...['__proto__', 'constructor', '#text', '@_xmlns', '{', '}', '[', ']', '"', ',', ':', '\\'],
]
const odd = fc.oneof(fc.constantFrom(...SIGNS), fc.string({ maxLength: 8 }))
const share = fc.double({ min: 0, max: 1, noNaN: true })

/** Replaces a piece of text. */
const spliced = (text: string) =>
  fc
    .array(fc.tuple(share, fc.nat(12), odd), { minLength: 1, maxLength: 6 })
    .map(edits => edits.reduce((all, [at, gone, put]) => inPlace(all, Math.floor(at * all.length), gone, put), text))
const inPlace = (text: string, at: number, gone: number, put: string) => text.slice(0, at) + put + text.slice(at + gone)

/** Replaces, duplicates or removes whole elements or members. */
const LEAF = /<(\w+)>[^<>]*<\/\1>|"\w+": ?("[^"]*"|[\d.]+)/g
const swapped = (text: string) =>
  fc
    .array(fc.tuple(share, odd, fc.constantFrom('inside', 'around', 'gone', 'twice')), { minLength: 1, maxLength: 4 })
    .map(edits =>
      edits.reduce((all, [at, put, how]) => {
        const leaves = [...all.matchAll(LEAF)]
        const leaf = leaves[Math.floor(at * leaves.length)]
        if (leaf === undefined) return all
        const [whole, name] = leaf
        const other = {
          inside: name === undefined ? `${whole.split(':')[0]}: ${JSON.stringify(put)}` : `<${name}>${put}</${name}>`,
          around:
            name === undefined ? `${whole.split(':')[0]}: [${put}]` : `<${name}><item><a>${put}</a></item></${name}>`,
          gone: '',
          twice: name === undefined ? `${whole}, ${whole}` : whole + whole,
        }[how]
        return inPlace(all, leaf.index, whole.length, other)
      }, text),
    )
const cut = (text: string) => share.map(at => text.slice(0, Math.floor(at * text.length)))

const damaged = (text: string) => fc.oneof(spliced(text), swapped(text), swapped(text), cut(text))
/** Other statuses are retried with a delay: `wire-faults.test.ts` covers them. */
const status = fc.constantFrom(200, 200, 200, 200, 400, 403, 404, 413)

type Judge = (value: unknown) => boolean
const isText: Judge = value => typeof value === 'string'
const isInstant: Judge = value => isText(value) && new Date(String(value)).toISOString() === value
const isMeasure: Judge = value => Number.isFinite(value) && Number(value) >= 0
const orNull =
  (judge: Judge): Judge =>
  value =>
    value === null || judge(value)
const listOf =
  (judge: Judge): Judge =>
  value =>
    Array.isArray(value) && value.every(judge)
const mapOf =
  (judge: Judge): Judge =>
  value =>
    value instanceof Map && [...value].every(([key, held]) => isText(key) && judge(held))
const fields =
  (judges: Readonly<Record<string, Judge>>): Judge =>
  value => {
    const held = Object.entries(value ?? {})
    return held.length === Object.keys(judges).length && held.every(([name, field]) => judges[name]?.(field))
  }

const isMachine = fields({
  instance_id: value => /^i-[0-9a-f]+$/.test(String(value)) && isText(value),
  state: value => isText(value) && value !== '',
  state_reason: orNull(isText),
  ...{ instance_type: isText, image_id: isText, availability_zone: isText },
  ...{ public_ip: orNull(isText), private_ip: orNull(isText) },
  ...{ public_dns: orNull(isText), private_dns: orNull(isText) },
  launched_at: isInstant,
  client_token: orNull(isText),
  tags: value => Object.values(value ?? 0).every(isText),
})
const isImage = fields({ image_id: isText, name: isText, created_at: isText, root_device: isText })
const isReading = fields({
  at: orNull(isInstant),
  ...Object.fromEntries(MEASURES.map(measure => [measure, orNull(isMeasure)])),
})

/** Resolves with what the port promises, or with its error. */
async function judged(call: Promise<unknown>, isPromised: Judge): Promise<void> {
  const [end] = await Promise.allSettled([call])
  if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(CloudError)
  else if (!isPromised(end.value)) expect(end.value).toBe('what the port promises')
}

const LAUNCH: Parameters<Compute['launch']>[1] = {
  client_token: 't',
  user_data: null,
  parameters: {
    image_id: 'ami-1',
    instance_type: 'm5zn.metal',
    subnet_id: 'subnet-1',
    security_group_ids: ['sg-1'],
    associate_public_ip: null,
    key_name: null,
    iam_instance_profile: null,
    root_device: '/dev/sda1',
    root_volume_gb: 200,
    ...{ volume_encrypted: true, nested_virtualization: false, user_data_ref: null },
    tags: {},
  },
}

/** Text that every complete response contains. */
const MEANT = /i-1|ami-2/

const CALLS: ReadonlyArray<readonly [string, string, () => Promise<unknown>, Judge]> = [
  ['list', MACHINES_XML, () => compute.list(REGION, { client_token: 't' }, never), listOf(isMachine)],
  [
    'describe',
    MACHINES_XML,
    () => compute.describe(REGION, ['i-1', 'i-2', 'i-3'], never),
    fields({ found: listOf(isMachine), missing: listOf(isText) }),
  ],
  [
    'newestImage',
    IMAGES_XML,
    () => compute.newestImage(REGION, { name_pattern: '*', owner: 'self' }, never),
    orNull(isImage),
  ],
  ['imageIds', IMAGES_XML, () => compute.imageIds(REGION, '*', never), listOf(isText)],
  ['launch', LAUNCHED_XML, () => compute.launch(REGION, LAUNCH, never), isMachine],
  ['power', POWERED_XML, () => compute.power(REGION, 'stop', ['i-1', 'i-2'], never), mapOf(isText)],
  ['latest', METRICS_JSON, () => metrics.latest(REGION, ['i-1'], never), mapOf(isReading)],
]

it.each(CALLS)('%s reads a complete response', async (_name, whole, call, isPromised) => {
  given = { body: whole }
  const value = await call()
  expect(isPromised(value)).toBe(true)
  expect(inspect(value)).toMatch(MEANT)
})

it.each(CALLS)('%s returns what it promises or fails with a CloudError, for any response', async (...row) => {
  const [, whole, call, isPromised] = row
  const answers = fc.record({
    status,
    body: fc.oneof(
      { weight: 8, arbitrary: damaged(whole) },
      { weight: 1, arbitrary: damaged(REFUSED_XML) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 100 }) },
    ),
  })
  const property = fc.asyncProperty(answers, async answer => {
    given = answer
    await judged(call(), isPromised)
  })
  await fc.assert(property, { numRuns: RUNS })
})
