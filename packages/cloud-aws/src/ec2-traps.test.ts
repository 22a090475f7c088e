import type { Compute, PowerAction } from '@lcm/cloud/compute'
import { batchedCompute, powerEach } from '@lcm/cloud/compute-wrappers/batched-compute'
import { rateLimitedCompute } from '@lcm/cloud/compute-wrappers/rate-limited-compute'
import type { CloudError } from '@lcm/cloud/errors'
import { plantMachines, SIM_COMPUTE_SETUP } from '@lcm/cloud-sim/conformance/compute-and-metrics-fixtures'
import { startSimServer } from '@lcm/cloud-sim/server/server'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { systemClock } from '@lcm/runtime/clock'
import { manualClock } from '@lcm/testkit/manual-clock'
import { someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { afterEach, describe, expect, it } from 'vitest'
import { awsCompute } from './ec2/compute.ts'
import { changesXml, errorXml, instanceXml, pageXml, requestedIds } from './testing/ec2-response-builders.ts'
import { type Script, scriptedEndpoint } from './testing/scripted-endpoint.ts'

const REGION = 'us-east-1'
const CREDENTIALS = { accessKeyId: 'a', secretAccessKey: 'b' }
const never = new AbortController().signal
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function ec2ThatAnswers(script: Script) {
  const clock = manualClock()
  const endpoint = await scriptedEndpoint(script)
  const compute = awsCompute({ clock, endpoint: endpoint.url, credentials: CREDENTIALS })
  closers.push(async () => {
    compute.close()
    await endpoint.close()
  })
  return { compute, clock, bodies: endpoint.bodies, asked: endpoint.asked }
}

const list = (compute: Compute) => compute.list(REGION, { client_token: 't' }, never)
const each = (compute: Compute, act: PowerAction, ids: readonly string[]) =>
  powerEach(ids, some => compute.power(REGION, act, some, never))
const launch = (compute: Compute) =>
  compute.launch(REGION, { client_token: 'token-1', parameters: someLaunchParameters(), user_data: null }, never)
const classOf = (outcome: string | CloudError | undefined) =>
  typeof outcome === 'string' ? outcome : outcome?.errorClass

/** Ten pitfalls of EC2. */
describe('the traps of EC2', () => {
  it('1: a request that hangs has no timeout of its own', async () => {
    const { compute, clock, asked } = await ec2ThatAnswers(() => null)
    const launching = launch(compute)
    await asked
    const ended = expect(launching).rejects.toMatchObject({ errorClass: 'transient', code: 'TimeoutError' })
    await clock.advance(20_000)
    await ended
  })

  it('2: an empty 200 reads like "no machines at all"', async () => {
    const { compute } = await ec2ThatAnswers(() => ({ body: '' }))
    await expect(list(compute)).rejects.toMatchObject({ errorClass: 'transient', code: 'MalformedAnswer' })
    await expect(compute.describe(REGION, ['i-1'], never)).rejects.toMatchObject({ code: 'MalformedAnswer' })
  })

  it('3: a capacity shortage comes as a 500 and must not be retried at once', async () => {
    const { compute, bodies } = await ec2ThatAnswers(() => ({
      status: 500,
      body: errorXml('InsufficientInstanceCapacity'),
    }))
    await expect(launch(compute)).rejects.toMatchObject({ errorClass: 'capacity' })
    expect(bodies).toHaveLength(1)
  })

  it('4: the retry quota is per client, so failing changes must not use up that of reads', async () => {
    let lists = 0
    const { compute, bodies } = await ec2ThatAnswers((_call, body) => {
      if (!body.includes('DescribeInstances')) return { status: 500, body: errorXml('InternalError') }
      lists += 1
      return lists % 2 === 1 ? { status: 500, body: errorXml('InternalError') } : { body: pageXml(['i-1']) }
    })
    await Promise.allSettled(Array.from({ length: 60 }, () => launch(compute)))
    expect(bodies).toHaveLength(60)
    expect(await list(compute)).toHaveLength(1)
  })

  it.each([
    ['refused', { status: 400, body: errorXml('IdempotentInstanceTerminated') }],
    [
      'answered with the dead machine',
      { body: `<r><instancesSet>${instanceXml('i-1', 'terminated')}</instancesSet></r>` },
    ],
  ])('5: the token of a terminated machine is %s', async (_name, answer) => {
    const { compute } = await ec2ThatAnswers(() => answer)
    await expect(launch(compute)).rejects.toMatchObject({ errorClass: 'attempt_spent' })
  })

  it('6: a token counts within a zone, so the subnet is always sent, at the top level', async () => {
    const { compute, bodies } = await ec2ThatAnswers(() => ({
      body: `<r><instancesSet>${instanceXml('i-1')}</instancesSet></r>`,
    }))
    await launch(compute)
    const form = new URLSearchParams(bodies[0])
    expect(form.get('SubnetId')).toBe(someLaunchParameters().subnet_id)
    expect([...form.keys()].filter(name => name.startsWith('NetworkInterface'))).toEqual([])
  })

  it.each([true, false])(
    '6: a public address (%s) is a matter of the interface, and the subnet goes with it',
    async wanted => {
      const { compute, bodies } = await ec2ThatAnswers(() => ({
        body: `<r><instancesSet>${instanceXml('i-1')}</instancesSet></r>`,
      }))
      const parameters = someLaunchParameters({ associate_public_ip: wanted, security_group_ids: ['sg-1'] })
      await compute.launch(REGION, { client_token: 'a', parameters, user_data: null }, never)
      const form = new URLSearchParams(bodies[0])
      const network = [...form].filter(([name]) => /Subnet|SecurityGroup|NetworkInterface/.test(name))
      expect(Object.fromEntries(network)).toEqual({
        'NetworkInterface.1.DeviceIndex': '0',
        'NetworkInterface.1.SubnetId': parameters.subnet_id,
        'NetworkInterface.1.SecurityGroupId.1': 'sg-1',
        'NetworkInterface.1.AssociatePublicIpAddress': String(wanted),
        'NetworkInterface.1.DeleteOnTermination': 'true',
      })
    },
  )

  it('7: one unknown machine fails the whole call', async () => {
    const { compute, bodies } = await ec2ThatAnswers((_call, body) =>
      requestedIds(body).includes('i-0b')
        ? { status: 400, body: errorXml('InvalidInstanceID.NotFound', "The instance ID 'i-0b' does not exist") }
        : { body: changesXml(requestedIds(body), 'stopping') },
    )
    const outcome = await each(compute, 'stop', ['i-0a', 'i-0b', 'i-0c'])
    expect(['i-0a', 'i-0b', 'i-0c'].map(id => classOf(outcome.get(id)))).toEqual(['stopping', 'not_found', 'stopping'])
    expect(bodies).toHaveLength(2)
  })

  it.each([
    ['names it', "The instance 'i-0b' may not be terminated. Modify its 'disableApiTermination' attribute"],
    ['does not name it', 'One of them may not be terminated'],
  ])('7: a protected machine fails its zone while others are terminated, and the error %s', async (_name, message) => {
    const zoneOf = (id: string) => (id < 'i-0c' ? 'a' : 'b')
    const dead = new Set<string>()
    const { compute } = await ec2ThatAnswers((_call, body) => {
      const isRefused = requestedIds(body).includes('i-0b')
      for (const id of requestedIds(body)) if (!isRefused || zoneOf(id) === 'b') dead.add(id)
      if (isRefused) return { status: 400, body: errorXml('OperationNotPermitted', message) }
      return { body: changesXml(requestedIds(body), 'shutting-down') }
    })
    const outcome = await each(compute, 'terminate', ['i-0a', 'i-0b', 'i-0c', 'i-0d'])
    expect([...outcome].map(([id, each]) => [id, classOf(each)]).sort()).toEqual([
      ['i-0a', 'shutting-down'],
      ['i-0b', 'protected'],
      ['i-0c', 'shutting-down'],
      ['i-0d', 'shutting-down'],
    ])
    expect([...dead].sort()).toEqual(['i-0a', 'i-0c', 'i-0d'])
  })

  it('8: an unknown id proves nothing, not even after it was terminated', async () => {
    const { compute } = await ec2ThatAnswers(() => ({
      status: 400,
      body: errorXml('InvalidInstanceID.NotFound', "The instance ID 'i-1' does not exist"),
    }))
    await expect(compute.power(REGION, 'terminate', ['i-1'], never)).rejects.toMatchObject({ errorClass: 'not_found' })
    expect(await compute.describe(REGION, ['i-1'], never)).toEqual({ found: [], missing: ['i-1'] })
  })

  it('9: twenty single starts are throttled, together they are two calls', async () => {
    const { compute, bodies } = await ec2ThatAnswers((_call, body) => ({
      body: changesXml(requestedIds(body), 'pending'),
    }))
    const machines = batchedCompute(rateLimitedCompute(compute, { clock: systemClock }))
    const ids = Array.from({ length: 20 }, (_, n) => `i-${n.toString(16)}`)
    const states = await Promise.all(ids.map(id => machines.powerOne(REGION, 'start', id, never)))
    expect(new Set(states)).toEqual(new Set(['pending']))
    expect(bodies.map(body => requestedIds(body).length)).toEqual([1, 19])
  })

  it("10: running does not mean ready on bare metal, which can't hibernate either", async () => {
    const clock = manualClock()
    const model = openSimModel({ seed: 7, clock })
    const server = await startSimServer({
      model,
      clock,
      log: { info: () => undefined, warn: () => undefined },
      cml: 'off',
    })
    const compute = awsCompute({ clock: systemClock, endpoint: server.url, credentials: CREDENTIALS })
    closers.push(async () => {
      compute.close()
      await server.close()
      model.close()
    })
    plantMachines(model, 1, {})
    const id = model.machines()[0]?.instance.instance_id ?? ''
    await clock.advance((model.changesAtMs(id) ?? 0) - model.now())
    const { found } = await compute.describe(SIM_COMPUTE_SETUP.region, [id], never)
    expect([found[0]?.state, model.cml.stageOf(id)]).toEqual(['running', 'NOTHING'])
    const { compute: scripted, bodies } = await ec2ThatAnswers((_call, body) => ({
      body: changesXml(requestedIds(body), 'stopping'),
    }))
    for (const act of ['stop', 'force_stop'] as const) await scripted.power(REGION, act, ['i-1'], never)
    expect(bodies.map(body => new URLSearchParams(body).get('Force'))).toEqual([null, 'true'])
    expect(bodies.some(body => body.includes('Hibernate'))).toBe(false)
  })
})
