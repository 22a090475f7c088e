import type { Compute } from '@lcm/cloud/compute'
import type { CloudErrorClass } from '@lcm/cloud/errors'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { awsCompute } from './ec2/compute.ts'
import { errorXml, instanceXml, pageXml, requestedIds } from './testing/ec2-response-builders.ts'
import { type Script, scriptedEndpoint } from './testing/scripted-endpoint.ts'

const REGION = 'us-east-1'
const signal = () => new AbortController().signal
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function cloudThatAnswers(script: Script) {
  const clock = manualClock()
  const endpoint = await scriptedEndpoint(script)
  const compute = awsCompute({ clock, endpoint: endpoint.url, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })
  closers.push(async () => {
    compute.close()
    await endpoint.close()
  })
  return { compute, clock, bodies: endpoint.bodies, untilAsked: endpoint.asked }
}

const list = (compute: Compute, until = signal()) => compute.list(REGION, { client_token: 't' }, until)
const failsAs = (errorClass: CloudErrorClass, code: string) =>
  expect.objectContaining({ name: 'CloudError', errorClass, code })

describe('a listing', () => {
  it.each([
    ['an empty 200', ''],
    ['an HTML page as 200', '<html><body>captive portal</body></html>'],
    ['text that is no XML', 'not xml'],
    ['an answer that breaks off', pageXml(['i-1', 'i-2']).slice(0, 200)],
    ['an answer without a list', '<DescribeInstancesResponse/>'],
    [
      'a reservation without its machines',
      '<r><reservationSet><item><reservationId>r</reservationId></item></reservationSet></r>',
    ],
    ['a machine without an id', pageXml(['']).replace('<instanceId></instanceId>', '')],
  ])('is never taken for complete from %s', async (_name, body) => {
    const { compute } = await cloudThatAnswers(() => ({ body }))
    await expect(list(compute)).rejects.toMatchObject({ name: 'CloudError', errorClass: 'transient' })
  })

  it('fails when its second page does', async () => {
    const { compute } = await cloudThatAnswers(call => (call === 1 ? { body: pageXml(['i-1'], 'two') } : { body: '' }))
    await expect(list(compute)).rejects.toEqual(failsAs('transient', 'MalformedAnswer'))
  })

  it('fails when the pages repeat', async () => {
    const { compute, bodies } = await cloudThatAnswers(() => ({ body: pageXml(['i-1'], 'again') }))
    await expect(list(compute)).rejects.toEqual(failsAs('transient', 'MalformedAnswer'))
    expect(bodies).toHaveLength(2)
  })

  it('retries by itself after a transient fault', async () => {
    const { compute } = await cloudThatAnswers(call =>
      call === 1 ? { status: 500, body: errorXml('InternalError') } : { body: pageXml(['i-1']) },
    )
    expect(await list(compute)).toHaveLength(1)
  })

  it.each([
    ['an HTML 404', 404, '<html>nope</html>', 'transient'],
    ['an empty 404', 404, '', 'transient'],
    ['an empty 403', 403, '', 'transient'],
    ['a refusal of our credentials', 401, errorXml('AuthFailure'), 'auth'],
  ] as const)('reads %s by what it proves', async (_name, status, body, errorClass) => {
    const { compute } = await cloudThatAnswers(() => ({ status, body }))
    await expect(list(compute)).rejects.toMatchObject({ errorClass })
  })

  it('ends at its deadline without a response', async () => {
    const { compute, clock, untilAsked } = await cloudThatAnswers(() => null)
    const listing = list(compute)
    await untilAsked
    const ended = expect(listing).rejects.toEqual(failsAs('transient', 'TimeoutError'))
    await clock.advance(60_000)
    await ended
  })

  it('ends when its signal aborts', async () => {
    const { compute, untilAsked } = await cloudThatAnswers(() => null)
    const abort = new AbortController()
    const listing = list(compute, abort.signal)
    await untilAsked
    abort.abort()
    await expect(listing).rejects.toEqual(failsAs('transient', 'AbortError'))
  })
})

describe('describing by id', () => {
  const IDS = ['i-0a', 'i-0b', 'i-0c', 'i-0d', 'i-0e']
  const knows = (known: readonly string[], message: (unknown: readonly string[]) => string): Script => {
    return (_call, body) => {
      const unknown = requestedIds(body).filter(id => !known.includes(id))
      if (unknown.length === 0) return { body: pageXml(requestedIds(body)) }
      return { status: 400, body: errorXml('InvalidInstanceID.NotFound', message(unknown)) }
    }
  }

  it('leaves out the ids that EC2 names, and retries once', async () => {
    const words = (unknown: readonly string[]) => `The instance IDs '${unknown.join(', ')}' do not exist`
    const { compute, bodies } = await cloudThatAnswers(knows(['i-0a', 'i-0c'], words))
    const { found, missing } = await compute.describe(REGION, IDS, signal())
    expect(found.map(each => each.instance_id)).toEqual(['i-0a', 'i-0c'])
    expect(missing).toEqual(['i-0b', 'i-0d', 'i-0e'])
    expect(bodies).toHaveLength(2)
    expect(bodies.some(body => body.includes('MaxResults'))).toBe(false)
  })

  it('splits the batch in halves when EC2 names none', async () => {
    const { compute } = await cloudThatAnswers(knows(['i-0a', 'i-0e'], () => 'some do not exist'))
    const { found, missing } = await compute.describe(REGION, IDS, signal())
    expect(found.map(each => each.instance_id)).toEqual(['i-0a', 'i-0e'])
    expect(missing).toEqual(['i-0b', 'i-0c', 'i-0d'])
  })

  it('counts ids that the response lacks as missing', async () => {
    const { compute } = await cloudThatAnswers(() => ({ body: pageXml(['i-0a', 'i-0f']) }))
    const { found, missing } = await compute.describe(REGION, ['i-0a', 'i-0b'], signal())
    expect([found.map(each => each.instance_id), missing]).toEqual([['i-0a'], ['i-0b']])
  })

  it('does not treat an unreadable 404 as missing ids', async () => {
    const { compute } = await cloudThatAnswers(() => ({ status: 404, body: '' }))
    await expect(compute.describe(REGION, IDS, signal())).rejects.toMatchObject({ errorClass: 'transient' })
  })
})

describe('a change', () => {
  const launch = (compute: Compute) =>
    compute.launch(
      REGION,
      {
        client_token: 'token-1',
        user_data: '#!/bin/sh\necho ä',
        parameters: {
          image_id: 'ami-1',
          instance_type: 'm8i.12xlarge',
          subnet_id: 'subnet-1',
          associate_public_ip: null,
          security_group_ids: ['sg-2', 'sg-1'],
          key_name: 'k',
          root_device: '/dev/sda1',
          root_volume_gb: 100,
          volume_encrypted: true,
          iam_instance_profile: 'p',
          nested_virtualization: true,
          user_data_ref: null,
          tags: { b: '2', a: '1' },
        },
      },
      signal(),
    )

  it('is sent only once, and a capacity shortage is not treated as a 500', async () => {
    const { compute, bodies } = await cloudThatAnswers(() => ({
      status: 500,
      body: errorXml('InsufficientInstanceCapacity'),
    }))
    await expect(launch(compute)).rejects.toEqual(failsAs('capacity', 'InsufficientInstanceCapacity'))
    await expect(compute.power(REGION, 'start', ['i-1'], signal())).rejects.toMatchObject({ errorClass: 'capacity' })
    expect(bodies).toHaveLength(2)
  })

  it('sends exactly the planned launch', async () => {
    const body = `<r><instancesSet>${instanceXml('i-1')}</instancesSet></r>`
    const { compute, bodies } = await cloudThatAnswers(() => ({ body }))
    expect((await launch(compute)).instance_id).toBe('i-1')
    expect(Object.fromEntries(new URLSearchParams(bodies[0]))).toEqual({
      Action: 'RunInstances',
      Version: '2016-11-15',
      MinCount: '1',
      MaxCount: '1',
      ClientToken: 'token-1',
      ImageId: 'ami-1',
      InstanceType: 'm8i.12xlarge',
      SubnetId: 'subnet-1',
      UserData: Buffer.from('#!/bin/sh\necho ä').toString('base64'),
      KeyName: 'k',
      'SecurityGroupId.1': 'sg-2',
      'SecurityGroupId.2': 'sg-1',
      'IamInstanceProfile.Name': 'p',
      'CpuOptions.NestedVirtualization': 'enabled',
      InstanceInitiatedShutdownBehavior: 'stop',
      'MetadataOptions.HttpTokens': 'required',
      'MetadataOptions.HttpEndpoint': 'enabled',
      'MetadataOptions.HttpPutResponseHopLimit': '2',
      'BlockDeviceMapping.1.DeviceName': '/dev/sda1',
      'BlockDeviceMapping.1.Ebs.VolumeSize': '100',
      'BlockDeviceMapping.1.Ebs.VolumeType': 'gp3',
      'BlockDeviceMapping.1.Ebs.Encrypted': 'true',
      'BlockDeviceMapping.1.Ebs.DeleteOnTermination': 'true',
      'TagSpecification.1.ResourceType': 'instance',
      'TagSpecification.1.Tag.1.Key': 'a',
      'TagSpecification.1.Tag.1.Value': '1',
      'TagSpecification.1.Tag.2.Key': 'b',
      'TagSpecification.1.Tag.2.Value': '2',
      'TagSpecification.2.ResourceType': 'volume',
      'TagSpecification.2.Tag.1.Key': 'a',
      'TagSpecification.2.Tag.1.Value': '1',
      'TagSpecification.2.Tag.2.Key': 'b',
      'TagSpecification.2.Tag.2.Value': '2',
    })
  })

  it('has an unknown outcome when the response is empty or about other machines', async () => {
    const { compute } = await cloudThatAnswers(() => ({ body: '' }))
    await expect(launch(compute)).rejects.toEqual(failsAs('transient', 'MalformedAnswer'))
    const powering = compute.power(REGION, 'terminate', ['i-1'], signal())
    await expect(powering).rejects.toEqual(failsAs('transient', 'MalformedAnswer'))
  })

  it('ends at its deadline without a response', async () => {
    const { compute, clock, untilAsked } = await cloudThatAnswers(() => null)
    const stopping = expect(compute.power(REGION, 'force_stop', ['i-1'], signal())).rejects.toEqual(
      failsAs('transient', 'TimeoutError'),
    )
    await untilAsked
    await clock.advance(20_000)
    await stopping
  })

  it('is transient when no server listens', async () => {
    const compute = awsCompute({
      clock: manualClock(),
      endpoint: 'http://127.0.0.1:1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    })
    await expect(launch(compute)).rejects.toEqual(failsAs('transient', 'ECONNREFUSED'))
    compute.close()
  })
})
