import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantMachines } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import { type SimServer, startSimServer } from './server.ts'

const SILENT = { info: () => undefined, warn: () => undefined }
const scope = (region: string) => `AWS4-HMAC-SHA256 Credential=AKID/20260102/${region}/ec2/aws4_request, Signature=x`

let clock = manualClock()
let model: SimModel
let server: SimServer
beforeEach(async () => {
  clock = manualClock()
  model = openSimModel({ seed: 7, clock })
  server = await startSimServer({ model, clock, log: SILENT, cml: 'off' })
})
afterEach(async () => {
  await server.close()
  model.close()
})

async function call(
  form: Record<string, string>,
  headers: Record<string, string> = { authorization: scope('us-east-1') },
) {
  const response = await fetch(server.url, { method: 'POST', body: new URLSearchParams(form), headers })
  return { status: response.status, xml: await response.text(), headers: response.headers }
}

async function control(method: string, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${server.url}/sim/v1${path}`, { method })
  return { status: response.status, body: await response.json() }
}

const plantOne = () => {
  plantMachines(model, 1, { Name: 'a' })
  clock.jumpWallClock(120_000)
  return model.machines()[0]?.instance.instance_id ?? ''
}

describe('the EC2 endpoint', () => {
  it("returns errors in EC2's wording", async () => {
    const answer = await call({ Action: 'TerminateInstances', 'InstanceId.1': 'i-0123456789abcdef0' })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toContain('text/xml')
    expect(answer.xml).toContain(
      '<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code>' +
        '<Message>The instance ID &apos;i-0123456789abcdef0&apos; does not exist</Message></Error></Errors>',
    )
    const several = await call({
      Action: 'DescribeInstances',
      'InstanceId.1': 'i-0123456789abcdef0',
      'InstanceId.2': 'i-0123456789abcdef1',
    })
    expect(several.xml).toContain('The instance IDs &apos;i-0123456789abcdef0, i-0123456789abcdef1&apos; do not exist')
  })

  it.each([
    ['an unknown action', { Action: 'LaunchRocket' }, 400, 'InvalidAction'],
    ['no action at all', {}, 400, 'InvalidAction'],
    ['a method of every object', { Action: 'toString' }, 400, 'InvalidAction'],
    ['a dry run', { Action: 'RunInstances', DryRun: 'true' }, 412, 'DryRunOperation'],
    [
      'ids with a page size',
      { Action: 'DescribeInstances', 'InstanceId.1': 'i-1', MaxResults: '5' },
      400,
      'InvalidParameterCombination',
    ],
    ['a malformed id', { Action: 'StopInstances', 'InstanceId.1': 'x' }, 400, 'InvalidInstanceID.Malformed'],
    ['no ids', { Action: 'StartInstances' }, 400, 'MissingParameter'],
    ['no image', { Action: 'RunInstances', InstanceType: 'c5.metal' }, 400, 'MissingParameter'],
    ['a bad page size', { Action: 'DescribeInstances', MaxResults: '-1' }, 400, 'InvalidParameterValue'],
    ['an unknown subnet', { Action: 'DescribeSubnets', 'SubnetId.1': 'subnet-x' }, 400, 'InvalidSubnetID.NotFound'],
  ])('refuses %s', async (_name, form, status, code) => {
    const answer = await call(form)
    expect([answer.status, answer.xml]).toEqual([status, expect.stringContaining(`<Code>${code}</Code>`)])
  })

  it('takes the region from the credential scope, and rejects calls without one', async () => {
    plantOne()
    expect((await call({ Action: 'DescribeInstances' })).xml).toContain('<instanceId>')
    const elsewhere = await call({ Action: 'DescribeInstances' }, { authorization: scope('eu-west-1') })
    expect(elsewhere.xml).toContain('<reservationSet/>')
    expect((await call({ Action: 'DescribeInstances' }, {})).status).toBe(401)
    expect((await call({ Action: 'DescribeInstances' }, { authorization: scope('mars-1') })).status).toBe(401)
  })

  it('sends the real date, independent of simulated time', async () => {
    const { headers } = await call({ Action: 'DescribeRegions' })
    const sent = Date.parse(headers.get('date') ?? '')
    expect(Math.abs(sent - systemClock.now())).toBeLessThan(60_000)
    expect(headers.get('x-amzn-requestid')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('tags, lists regions and pages', async () => {
    const id = plantOne()
    await call({ Action: 'CreateTags', 'ResourceId.1': id, 'Tag.1.Key': 'k', 'Tag.1.Value': '<&\u0001>' })
    expect((await call({ Action: 'DescribeInstances' })).xml).toContain(
      '<key>k</key><value>&lt;&amp;\ufffd&gt;</value>',
    )
    await call({ Action: 'DeleteTags', 'ResourceId.1': id, 'Tag.1.Key': 'k' })
    expect((await call({ Action: 'DescribeInstances' })).xml).not.toContain('<key>k</key>')
    expect((await call({ Action: 'DescribeRegions' })).xml).toContain('<regionName>eu-west-1</regionName>')
    expect((await call({ Action: 'DescribeSubnets' })).xml).toContain('<subnetId>subnet-use1c</subnetId>')
    plantMachines(model, 9, {})
    clock.jumpWallClock(5000)
    const page = await call({ Action: 'DescribeInstances', MaxResults: '5' })
    expect(page.xml.match(/<instanceId>/g)).toHaveLength(5)
    expect(page.xml).toMatch(/<nextToken>[^<]+<\/nextToken>/)
  })

  it('rejects a body that is too long', async () => {
    const { status } = await call({ Action: 'DescribeInstances', padding: 'x'.repeat(2 * 1024 * 1024) })
    expect(status).toBe(413)
  })

  it("returns 500 and keeps serving when the store can't be written", async () => {
    const broken = openSimModel({
      seed: 1,
      clock,
      store: {
        load: () => [],
        read: () => null,
        commit: () => {
          throw new Error('disk full')
        },
        close: () => undefined,
      },
    })
    const other = await startSimServer({ model: broken, clock, log: SILENT, cml: 'off' })
    const image = model.ec2.describeImages('us-east-1', {
      image_ids: [],
      owners: ['self'],
      filters: [],
      max_results: null,
      next_token: null,
    }).items[0]
    const form = { Action: 'RunInstances', ImageId: image?.image_id ?? '', InstanceType: 'c5.metal' }
    const body = new URLSearchParams(form)
    const headers = { authorization: scope('us-east-1') }
    const first = await fetch(other.url, { method: 'POST', body, headers })
    expect([first.status, await first.text()]).toEqual([500, expect.stringContaining('<Code>InternalError</Code>')])
    await other.close()
  })
})

describe('the control API', () => {
  it('changes machines without EC2 calls', async () => {
    const id = plantOne()
    expect((await control('POST', `/instances/${id}/stop`)).body).toMatchObject({ instance_id: id, state: 'stopping' })
    const refused = await control('POST', `/instances/${id}/start`)
    expect(refused).toMatchObject({ status: 409, body: { code: 'IncorrectInstanceState' } })
    expect((await control('POST', `/instances/${id}/terminate`)).body).toMatchObject({ state: 'shutting-down' })
    const { body } = await control('GET', '/instances')
    expect(body).toMatchObject({ items: [{ instance_id: id, stage: 'NOTHING', served: false, tags: { Name: 'a' } }] })
  })

  it("doesn't answer pages of other sites", async () => {
    const id = plantOne()
    const headers = { origin: 'https://evil.example' }
    const response = await fetch(`${server.url}/sim/v1/instances/${id}/terminate`, { method: 'POST', headers })
    expect([response.status, model.machine(id)?.state]).toEqual([403, 'running'])
  })

  it('logs which client called which EC2 action', async () => {
    await call(
      { Action: 'StopInstances', 'InstanceId.1': 'i-0123456789abcdef0' },
      { authorization: scope('us-west-2'), 'amz-sdk-request': 'attempt=2; max=5', 'amz-sdk-invocation-id': 'abc' },
    )
    expect((await control('GET', '/requests?limit=1')).body).toEqual({
      items: [
        {
          at: new Date(clock.now()).toISOString(),
          region: 'us-west-2',
          action: 'StopInstances',
          client_token: null,
          instance_ids: ['i-0123456789abcdef0'],
          attempt: 'attempt=2; max=5',
          invocation_id: 'abc',
          status: 400,
          code: 'InvalidInstanceID.NotFound',
          fault: null,
        },
      ],
    })
  })

  it('returns seed, speed and time, and 404 for unknown routes', async () => {
    const { body } = await control('GET', '/info')
    expect(body).toMatchObject({ seed: 7, speed: 1, instance_count: 0, now: new Date(clock.now()).toISOString() })
    expect((await control('GET', '/nothing')).status).toBe(404)
    expect((await control('POST', '/instances/i-1/stop')).status).toBe(404)
    expect((await control('POST', '/instances/i-1/explode')).status).toBe(404)
  })
})
