import type { Instance } from '@lcm/domain/worker/ec2-instance'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import type { Compute, Image, LaunchRequest } from '../compute.ts'
import { CloudError, type CloudErrorClass } from '../errors.ts'
import {
  batchedCompute,
  IMAGE_TTL_MS,
  imageCache,
  NO_IMAGE_TTL_MS,
  type PowerOutcome,
  powerEach,
} from './batched-compute.ts'

const REGION = 'us-east-1'
const never = new AbortController().signal
/** Lets every promise settle that can. */
const settle = () => manualClock().advance(0)
const refusal = (errorClass: 'state' | 'transient') =>
  new CloudError(errorClass, { code: 'Code', action: 'StopInstances', message: 'no' })

interface Call {
  readonly ids: readonly string[]
  readonly what: string
  readonly signal: AbortSignal
  finish(): void
  fail(error: unknown): void
}

const machine = (instance_id: string): Instance => ({
  instance_id,
  state: 'running',
  state_reason: null,
  instance_type: 't',
  image_id: 'ami-1',
  availability_zone: 'a',
  public_ip: null,
  private_ip: null,
  public_dns: null,
  private_dns: null,
  launched_at: '2026-01-01T00:00:00.000Z',
  client_token: null,
  tags: {},
})

/** A cloud with scripted responses. It does not know `i-none`, and rejects `i-bad`. */
function manualCloud() {
  const calls: Call[] = []
  const asked = <Answer>(what: string, ids: readonly string[], signal: AbortSignal, answer: () => Answer) =>
    new Promise<Answer>((resolve, reject) => {
      calls.push({ what, ids, signal, finish: () => resolve(Promise.resolve().then(answer)), fail: reject })
    })
  const none = () => Promise.reject(new Error('not asked for here'))
  const compute: Compute = {
    list: none,
    newestImage: none,
    imageIds: none,
    launch: none,
    tag: none,
    describe: (region, ids, signal) =>
      asked(`read ${region}`, ids, signal, () => {
        const found = ids.filter(id => id !== 'i-none').map(machine)
        return { found, missing: ids.filter(id => id === 'i-none') }
      }),
    power: (region, act, ids, signal) =>
      asked(`${act} ${region}`, ids, signal, () => {
        if (ids.includes('i-bad')) throw refusal('state')
        return new Map(ids.map(id => [id, `${id} changes`]))
      }),
  }
  return { calls, machines: batchedCompute(compute) }
}

describe('describing single machines', () => {
  it('sends the first at once, and batches calls that arrive until it returns', async () => {
    const { calls, machines } = manualCloud()
    const reads = ['i-1', 'i-2', 'i-3', 'i-2'].map(id => machines.describeOne(REGION, id, never))
    expect(calls.map(call => call.ids)).toEqual([['i-1']])
    calls[0]?.finish()
    await settle()
    expect(calls.map(call => call.ids)).toEqual([['i-1'], ['i-2', 'i-3']])
    calls[1]?.finish()
    const seen = await Promise.all(reads)
    expect(seen.map(instance => instance?.instance_id)).toEqual(['i-1', 'i-2', 'i-3', 'i-2'])
    expect(calls).toHaveLength(2)
  })

  it('never uses the response to a request that started before the call', async () => {
    const { calls, machines } = manualCloud()
    const first = machines.describeOne(REGION, 'i-1', never)
    const second = machines.describeOne(REGION, 'i-1', never)
    calls[0]?.finish()
    await first
    await settle()
    expect(calls).toHaveLength(2)
    calls[1]?.finish()
    await second
  })

  it('returns null for a machine that is not shown', async () => {
    const { calls, machines } = manualCloud()
    const read = machines.describeOne(REGION, 'i-none', never)
    calls[0]?.finish()
    expect(await read).toBeNull()
  })

  it('names at most two hundred machines in a request', async () => {
    const { calls, machines } = manualCloud()
    const reads = Array.from({ length: 451 }, (_, n) => machines.describeOne(REGION, `i-${n}`, never))
    for (let n = 0; n < 4; n += 1) {
      calls[n]?.finish()
      await settle()
    }
    await Promise.all(reads)
    expect(calls.map(call => call.ids.length)).toEqual([1, 200, 200, 50])
  })

  it('keeps regions apart', () => {
    const { calls, machines } = manualCloud()
    void machines.describeOne(REGION, 'i-1', never)
    void machines.describeOne('eu-west-1', 'i-2', never)
    expect(calls.map(call => call.what)).toEqual(['read us-east-1', 'read eu-west-1'])
  })
})

describe('changing single machines', () => {
  it('batches each kind of change separately, fifty in a request', async () => {
    const { calls, machines } = manualCloud()
    const stops = Array.from({ length: 60 }, (_, n) => machines.powerOne(REGION, 'stop', `i-${n}`, never))
    void machines.powerOne(REGION, 'start', 'i-1', never)
    expect(calls.map(call => call.what)).toEqual(['stop us-east-1', 'start us-east-1'])
    for (const n of [0, 2, 3]) {
      calls[n]?.finish()
      await settle()
    }
    expect(await Promise.all(stops)).toContain('i-59 changes')
    expect(calls.filter(call => call.what.startsWith('stop')).map(call => call.ids.length)).toEqual([1, 50, 9])
  })

  it('fails for the one rejected machine', async () => {
    const { calls, machines } = manualCloud()
    const first = machines.powerOne(REGION, 'stop', 'i-1', never)
    const [bad, good] = ['i-bad', 'i-2'].map(id => machines.powerOne(REGION, 'stop', id, never))
    calls[0]?.finish()
    await first
    for (const n of [1, 2, 3]) {
      await settle()
      calls[n]?.finish()
    }
    await expect(bad).rejects.toMatchObject({ errorClass: 'state' })
    expect(await good).toBe('i-2 changes')
  })

  it('fails for all when the request fails, and continues with the next', async () => {
    const { calls, machines } = manualCloud()
    const first = machines.powerOne(REGION, 'stop', 'i-1', never)
    const second = machines.powerOne(REGION, 'stop', 'i-2', never)
    calls[0]?.fail(refusal('transient'))
    await expect(first).rejects.toMatchObject({ errorClass: 'transient' })
    await settle()
    calls[1]?.finish()
    expect(await second).toBe('i-2 changes')
  })
})

describe('a caller that aborts', () => {
  const canceled = { name: 'CloudError', errorClass: 'transient', code: 'AbortError' }

  it('is left out when it aborts before the request, and sends nothing afterward', async () => {
    const { calls, machines } = manualCloud()
    const abort = new AbortController()
    const first = machines.describeOne(REGION, 'i-1', never)
    const left = expect(machines.describeOne(REGION, 'i-2', abort.signal)).rejects.toMatchObject(canceled)
    abort.abort()
    await left
    calls[0]?.finish()
    await first
    await settle()
    await expect(machines.describeOne(REGION, 'i-3', abort.signal)).rejects.toMatchObject(canceled)
    expect(calls).toHaveLength(1)
  })

  it('returns at once and leaves the request to the others; when all have aborted it is canceled', async () => {
    const { calls, machines } = manualCloud()
    const [one, two] = [new AbortController(), new AbortController()]
    const first = machines.describeOne(REGION, 'i-1', never)
    const gone = expect(machines.describeOne(REGION, 'i-2', one.signal)).rejects.toMatchObject(canceled)
    const stays = expect(machines.describeOne(REGION, 'i-3', two.signal)).rejects.toMatchObject(canceled)
    calls[0]?.finish()
    await first
    await settle()
    one.abort()
    await gone
    expect(calls[1]?.signal.aborted).toBe(false)
    two.abort()
    await stays
    expect(calls[1]?.signal.aborted).toBe(true)
  })
})

describe('image cache', () => {
  const REGION = 'us-east-1'
  const WANTED = { name_pattern: 'cml-*', owner: 'self' }
  const never = new AbortController().signal
  const anImage = (image_id: string): Image => ({ image_id, name: 'cml-1', created_at: '', root_device: '/dev/sda1' })
  const aLaunch = (image_id: string): LaunchRequest => ({
    client_token: 't',
    user_data: null,
    parameters: {
      image_id,
      instance_type: 't',
      subnet_id: 's',
      associate_public_ip: null,
      security_group_ids: [],
      key_name: null,
      root_device: '/dev/sda1',
      root_volume_gb: 1,
      volume_encrypted: true,
      iam_instance_profile: null,
      nested_virtualization: false,
      user_data_ref: null,
      tags: {},
    },
  })

  const canceled = new CloudError('transient', { code: 'AbortError', action: 'DescribeImages', message: '' })

  /** A cloud that returns `says()` and counts image requests. */
  function open(says: () => Image | null | CloudError = () => anImage('ami-1'), refusal = 'InvalidAMIID.NotFound') {
    const clock = manualClock()
    const asked: string[] = []
    const none = () => Promise.reject(new Error('not asked for here'))
    const compute: Compute = {
      list: none,
      describe: none,
      imageIds: none,
      power: none,
      tag: none,
      async newestImage(region, { name_pattern, owner }, signal) {
        asked.push(`${region} ${owner} ${name_pattern}`)
        await clock.sleep(100, signal)
        const answer = signal.aborted ? canceled : says()
        if (answer instanceof CloudError) throw answer
        return answer
      },
      launch: () => Promise.reject(new CloudError('invalid', { code: refusal, action: 'RunInstances', message: 'no' })),
    }
    const images = imageCache(compute, clock)
    async function answered(signal = never, wanted = WANTED, region = REGION) {
      const answer = images.newestImage(region, wanted, signal).catch((error: Error) => error)
      await clock.advance(100)
      return answer
    }
    return { clock, asked, images, answered }
  }

  it('sends one request for 100 launches of one template, and another after the TTL', async () => {
    const { clock, asked, images, answered } = open()
    const hundred = Promise.all(Array.from({ length: 100 }, () => images.newestImage(REGION, WANTED, never)))
    await clock.advance(100)
    expect(new Set((await hundred).map(image => image?.image_id))).toEqual(new Set(['ami-1']))
    for (let n = 0; n < 100; n += 1) await answered()
    expect(asked).toEqual(['us-east-1 self cml-*'])
    await clock.advance(IMAGE_TTL_MS)
    await answered()
    expect(asked).toHaveLength(2)
  })

  it('keeps regions, owners and patterns apart', async () => {
    const { asked, answered } = open()
    await answered()
    await answered(never, { ...WANTED, owner: '123' })
    await answered(never, { ...WANTED, name_pattern: 'cml-2*' })
    await answered(never, WANTED, 'eu-west-1')
    expect(asked).toEqual([
      'us-east-1 self cml-*',
      'us-east-1 123 cml-*',
      'us-east-1 self cml-2*',
      'eu-west-1 self cml-*',
    ])
  })

  it('caches no error, and a missing image only until the next reconciliation', async () => {
    let answer: Image | null | CloudError = new CloudError('transient', {
      code: 'x',
      action: 'DescribeImages',
      message: '',
    })
    const { clock, asked, answered } = open(() => answer)
    expect(await answered()).toBe(answer)
    answer = null
    expect(await answered()).toBeNull()
    answer = anImage('ami-2')
    expect(await answered()).toBeNull()
    await clock.advance(NO_IMAGE_TTL_MS)
    expect(await answered()).toEqual(answer)
    expect(asked).toHaveLength(3)
  })

  it('queries again after a launch was rejected because its image is gone', async () => {
    let id = 'ami-1'
    const { asked, images, answered } = open(() => anImage(id))
    await answered()
    id = 'ami-2'
    await expect(images.launch(REGION, aLaunch('ami-other'), never)).rejects.toMatchObject({ errorClass: 'invalid' })
    expect(await answered()).toMatchObject({ image_id: 'ami-1' })
    await expect(images.launch(REGION, aLaunch('ami-1'), never)).rejects.toMatchObject({ errorClass: 'invalid' })
    expect(await answered()).toMatchObject({ image_id: 'ami-2' })
    expect(asked).toHaveLength(2)
  })

  it('keeps the image after a launch that was rejected for another reason', async () => {
    const { asked, images, answered } = open(undefined, 'InsufficientInstanceCapacity')
    await answered()
    await images.launch(REGION, aLaunch('ami-1'), never).catch(() => undefined)
    await answered()
    expect(asked).toHaveLength(1)
  })

  it('continues for the others when one caller aborts', async () => {
    const { clock, asked, images } = open()
    const leaving = new AbortController()
    const left = images.newestImage(REGION, WANTED, leaving.signal).catch((error: CloudError) => error.code)
    const staying = images.newestImage(REGION, WANTED, never)
    await clock.advance(50)
    leaving.abort()
    expect(await left).toBe('AbortError')
    await clock.advance(150)
    expect(await staying).toMatchObject({ image_id: 'ami-1' })
    expect(asked, 'the call of the one that left was given up').toHaveLength(2)
  })
})

describe('power each', () => {
  const refusal = (errorClass: CloudErrorClass, message = 'no') =>
    new CloudError(errorClass, { code: 'Code', action: 'StopInstances', message })
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `i-${n.toString(16)}`)

  /** A cloud that rejects every call with a bad machine. */
  function cloudWith(bad: readonly string[], refuse: (hit: readonly string[]) => CloudError) {
    const calls: (readonly string[])[] = []
    return {
      calls,
      power: (instanceIds: readonly string[]): Promise<PowerOutcome> =>
        powerEach(instanceIds, async asked => {
          calls.push(asked)
          const hit = asked.filter(id => bad.includes(id))
          if (hit.length > 0) throw refuse(hit)
          return new Map(asked.map(id => [id, 'stopping']))
        }),
    }
  }

  const classesOf = (outcome: PowerOutcome) =>
    [...outcome].filter(([, each]) => each instanceof CloudError).map(([id]) => id)

  describe('changing many machines', () => {
    it('takes one call for fifty, and one more for the next', async () => {
      const { calls, power } = cloudWith([], () => refusal('state'))
      expect((await power([...ids(60), ...ids(60)])).size).toBe(60)
      expect(calls.map(call => call.length)).toEqual([50, 10])
    })

    it('leaves out all machines that the error names, and retries once', async () => {
      const bad = ['i-1', 'i-3']
      const words = (hit: readonly string[]) => `The instance IDs '${hit.join(', ')}' do not exist`
      const { calls, power } = cloudWith(bad, hit => refusal('not_found', words(hit)))
      const outcome = await power(ids(32))
      expect(classesOf(outcome)).toEqual(bad)
      expect(outcome.get('i-1f')).toBe('stopping')
      expect(calls).toHaveLength(2)
    })

    it('changes those that a policy allows, where the error names the forbidden one', async () => {
      const words =
        'You are not authorized to perform: ec2:StopInstances on resource: arn:aws:ec2:us-east-1:1:instance/i-3'
      const { power } = cloudWith(['i-3'], () => refusal('auth', words))
      const outcome = await power(ids(5))
      expect(classesOf(outcome)).toEqual(['i-3'])
      expect(outcome.get('i-4')).toBe('stopping')
    })

    it('does not take one id for the prefix of another', async () => {
      const { power } = cloudWith(['i-1f'], () => refusal('state', "The instance 'i-1f' is not in a state"))
      expect(classesOf(await power(ids(32)))).toEqual(['i-1f'])
    })

    it('splits in halves when none is named, and finds each bad one', async () => {
      const bad = ['i-0', 'i-9', 'i-1f']
      const { calls, power } = cloudWith(bad, () => refusal('protected'))
      const outcome = await power(ids(32))
      expect(classesOf(outcome).toSorted()).toEqual(bad.toSorted())
      expect(outcome.size).toBe(32)
      expect(calls.length).toBeLessThanOrEqual(1 + 2 * 3 * 5)
    })

    it.each(['throttled', 'transient', 'auth'] as const)('stops after a call was %s', async errorClass => {
      const { calls, power } = cloudWith(['i-37'], () => refusal(errorClass))
      const outcome = await power(ids(120))
      expect(calls).toHaveLength(2)
      expect(outcome.get('i-0')).toBe('stopping')
      expect(outcome.get('i-32')).toMatchObject({ errorClass })
      expect(outcome.get('i-77')).toMatchObject({ errorClass })
    })

    it('leaves the outcome open for a machine that the response lacks', async () => {
      const outcome = await powerEach(['i-1', 'i-2'], async () => new Map([['i-2', 'stopped']]))
      expect(outcome.get('i-1')).toMatchObject({ errorClass: 'transient', code: 'MalformedAnswer' })
      expect(outcome.get('i-2')).toBe('stopped')
    })
  })
})
