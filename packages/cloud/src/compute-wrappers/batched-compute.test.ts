import type { Instance } from '@lcm/domain/worker/instance'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import type { Compute } from '../compute.ts'
import { CloudError } from '../errors.ts'
import { batchedCompute } from './batched-compute.ts'

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
function cloudByHand() {
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
      asked(`look ${region}`, ids, signal, () => {
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
    const { calls, machines } = cloudByHand()
    const looks = ['i-1', 'i-2', 'i-3', 'i-2'].map(id => machines.describeOne(REGION, id, never))
    expect(calls.map(call => call.ids)).toEqual([['i-1']])
    calls[0]?.finish()
    await settle()
    expect(calls.map(call => call.ids)).toEqual([['i-1'], ['i-2', 'i-3']])
    calls[1]?.finish()
    const seen = await Promise.all(looks)
    expect(seen.map(instance => instance?.instance_id)).toEqual(['i-1', 'i-2', 'i-3', 'i-2'])
    expect(calls).toHaveLength(2)
  })

  it('never uses the response to a request that started before the call', async () => {
    const { calls, machines } = cloudByHand()
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
    const { calls, machines } = cloudByHand()
    const look = machines.describeOne(REGION, 'i-none', never)
    calls[0]?.finish()
    expect(await look).toBeNull()
  })

  it('names at most two hundred machines in a request', async () => {
    const { calls, machines } = cloudByHand()
    const looks = Array.from({ length: 451 }, (_, n) => machines.describeOne(REGION, `i-${n}`, never))
    for (let n = 0; n < 4; n += 1) {
      calls[n]?.finish()
      await settle()
    }
    await Promise.all(looks)
    expect(calls.map(call => call.ids.length)).toEqual([1, 200, 200, 50])
  })

  it('keeps regions apart', () => {
    const { calls, machines } = cloudByHand()
    void machines.describeOne(REGION, 'i-1', never)
    void machines.describeOne('eu-west-1', 'i-2', never)
    expect(calls.map(call => call.what)).toEqual(['look us-east-1', 'look eu-west-1'])
  })
})

describe('changing single machines', () => {
  it('batches each kind of change separately, fifty in a request', async () => {
    const { calls, machines } = cloudByHand()
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
    const { calls, machines } = cloudByHand()
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
    const { calls, machines } = cloudByHand()
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
    const { calls, machines } = cloudByHand()
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
    const { calls, machines } = cloudByHand()
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
