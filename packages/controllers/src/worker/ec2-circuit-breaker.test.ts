import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { beforeEach, describe, expect, it } from 'vitest'
import { outages } from '../kit/dependency-outages.ts'
import { ec2Outages } from './ec2-circuit-breaker.ts'
import { never, OTHER_REGION, REGION, simulatedFleet } from './testing/simulated-cloud-and-api.ts'

/** Timeout of a call. */
const CALL_MS = 60_000
const IMAGE = { name_pattern: 'cml-2.9.1-*', owner: 'self' }

/** Machines that can fail, with every call that reached EC2. */
async function setUp() {
  const { clock, machines } = await simulatedFleet()
  const logger = recordingLogger()
  const tracker = outages({ clock, logger })
  const woken: string[] = []
  const calls: string[] = []
  let failing: CloudErrorClass | null = null
  let isHanging = false
  let requests = 0
  const meet = async <Answer>(name: string, call: () => Promise<Answer>): Promise<Answer> => {
    calls.push(name)
    requests += 1
    if (isHanging) {
      await clock.sleep(CALL_MS)
      throw new CloudError('transient', { code: 'TimeoutError', action: name, message: 'no answer' })
    }
    if (failing === null) return call()
    throw new CloudError(failing, { code: 'RequestTimeout', action: name, message: `RequestId ${requests}` })
  }
  const there: BatchedCompute = {
    ...machines,
    list: (...asked) => meet(`list ${asked[0]}`, () => machines.list(...asked)),
    describeOne: (...asked) => meet(`read ${asked[0]}`, () => machines.describeOne(...asked)),
    newestImage: (...asked) => meet(`newestImage ${asked[0]}`, () => machines.newestImage(...asked)),
  }
  const reads = ec2Outages({ clock, outages: tracker, wake: id => void woken.push(id) })
  const ending = new AbortController()
  void reads.run(ending.signal)
  const guarded = reads.guard(there)
  const read = (id = 'w-1', region = REGION) =>
    guarded.describeOne(region, 'i-0123456789abcdef0', never).catch((error: CloudError) => ({
      ...reads.unreadable({ id, aws_region: region }, 'instances', error),
    }))
  return {
    ...{ clock, logger, tracker, woken, calls, reads, guarded, read, ending },
    fail: (errorClass: CloudErrorClass | null) => {
      failing = errorClass
      isHanging = false
    },
    hang: () => {
      isHanging = true
    },
  }
}

let rig: Awaited<ReturnType<typeof setUp>>
beforeEach(async () => {
  rig = await setUp()
})

describe('a region that does not answer', () => {
  it('is probed by one call at a time with a growing interval, however many workers read', async () => {
    const { clock, calls, fail, read } = rig
    fail('transient')
    const perMinute: number[] = []
    for (let minute = 0; minute < 10; minute += 1) {
      const before = calls.length
      for (let second = 0; second < 60; second += 1) {
        await Promise.all(Array.from({ length: 100 }, (_, n) => read(`w-${n}`)))
        await clock.advance(1_000)
      }
      perMinute.push(calls.length - before)
    }
    // The first hundred read at the same time; from then on only the probe does.
    expect(perMinute[0]).toBeLessThanOrEqual(100 + 7)
    expect(Math.max(...perMinute.slice(1))).toBeLessThanOrEqual(2)
  })

  it('has the same reason for the whole outage, whatever the messages of EC2', async () => {
    const { clock, fail, read } = rig
    fail('transient')
    const sinceMs = clock.now()
    await read()
    const seen = new Set<string>()
    for (let second = 0; second < 600; second += 1) {
      seen.add(JSON.stringify(await read()))
      await clock.advance(1_000)
    }
    const because = reason('ec2_not_responding', { service: `EC2 in ${REGION}`, since: toInstant(sinceMs) })
    expect([...seen]).toEqual([JSON.stringify({ because, sinceMs })])
  })

  it('wakes the unreadable workers within 30 s of its recovery', async () => {
    const { clock, woken, fail, read } = rig
    fail('transient')
    await Promise.all([read('w-1'), read('w-2'), read('w-3', OTHER_REGION)])
    await clock.advance(600_000)
    woken.length = 0
    fail(null)
    await clock.advance(30_000)
    expect(woken.toSorted()).toEqual(['w-1', 'w-2', 'w-3'])
    expect(await read()).toBeNull()
  })

  it('wakes the unreadable workers once the outage has lasted 30 s, so that each reports it', async () => {
    const { clock, woken, fail, read } = rig
    fail('transient')
    await Promise.all([read('w-1'), read('w-2')])
    await clock.advance(29_000)
    expect(woken).toEqual([])
    await clock.advance(10_000)
    expect(woken.toSorted()).toEqual(['w-1', 'w-2'])
    await clock.advance(600_000)
    expect(woken, 'once for each outage').toHaveLength(2)
  })

  it('counts an outage from the time that the hanging calls were sent', async () => {
    const { clock, tracker, hang, read } = rig
    hang()
    const sinceMs = clock.now()
    const reads = Promise.all([read('w-1'), read('w-2')])
    await clock.advance(CALL_MS)
    await reads
    const since = toInstant(sinceMs)
    expect(tracker.problems()).toMatchObject([
      { code: 'dependency_outage', params: { dependency: `EC2 in ${REGION}`, since } },
    ])
    const because = reason('ec2_not_responding', { service: `EC2 in ${REGION}`, since })
    expect(await read('w-1')).toEqual({ because, sinceMs })
  })

  it('is a problem with one log line after 30 s, and none once it answers', async () => {
    const { clock, logger, tracker, fail, read } = rig
    fail('transient')
    await read()
    await clock.advance(29_000)
    expect(tracker.problems()).toEqual([])
    await clock.advance(30_000)
    expect(tracker.problems()).toMatchObject([
      { code: 'dependency_outage', params: { dependency: `EC2 in ${REGION}` } },
    ])
    fail(null)
    await clock.advance(30_000)
    expect(tracker.problems()).toEqual([])
    expect(logger.lines.map(({ message }) => message)).toEqual([
      `EC2 in ${REGION} does not answer`,
      `EC2 in ${REGION} answers again`,
    ])
  })

  it('does not delay the reads of another region', async () => {
    const { fail, read } = rig
    fail('transient')
    await read()
    fail(null)
    expect(await read('w-2', OTHER_REGION)).toBeNull()
  })

  it('is not probed by an instance that lost its leadership', async () => {
    const { clock, calls, tracker, fail, read, ending } = rig
    fail('transient')
    await read()
    await clock.advance(60_000)
    ending.abort()
    const before = calls.length
    await clock.advance(600_000)
    expect([calls.length, tracker.problems()]).toEqual([before, []])
  })
})

describe('no outage of a region', () => {
  it('one failed call: the next is sent as usual, and the worker waits for its own backoff', async () => {
    const { clock, woken, tracker, fail, read, calls } = rig
    fail('transient')
    const pending = read()
    fail(null)
    expect(await pending).toEqual({
      because: reason('ec2_read_failed', { action: `read ${REGION}`, aws_code: 'RequestTimeout' }),
      sinceMs: null,
    })
    await clock.advance(0)
    expect(await read()).toBeNull()
    expect(calls).toEqual([`read ${REGION}`, `list ${REGION}`, `read ${REGION}`])
    expect([woken, tracker.problems()]).toEqual([[], []])
  })

  it('calls that hang while others are answered', async () => {
    const { clock, tracker, fail, hang, read } = rig
    hang()
    const reads = Promise.all([read('w-1'), read('w-2')])
    fail(null)
    await clock.advance(CALL_MS - 1_000)
    expect(await read('w-3')).toBeNull()
    await clock.advance(1_000)
    expect(await reads).toEqual([
      expect.objectContaining({ sinceMs: null }),
      expect.objectContaining({ sinceMs: null }),
    ])
    await clock.advance(0)
    expect(tracker.problems()).toEqual([])
  })

  it.each<CloudErrorClass>(['throttled', 'invalid', 'not_found'])('%s', async errorClass => {
    const { clock, calls, tracker, fail, read } = rig
    fail(errorClass)
    expect(await read()).toMatchObject({ sinceMs: null })
    await clock.advance(60_000)
    expect(await read()).toMatchObject({ sinceMs: null })
    expect(calls).toHaveLength(2)
    expect(tracker.problems()).toEqual([])
  })

  it('a refusal of the account: it is a problem of its own with its own reason', async () => {
    const { clock, tracker, fail, read } = rig
    fail('auth')
    const sinceMs = clock.now()
    await read()
    await clock.advance(60_000)
    const call = { action: `list ${REGION}`, region: REGION, aws_code: 'RequestTimeout' }
    const because = reason('ec2_refuses_access', { ...call, since: toInstant(sinceMs) })
    expect(await read()).toEqual({ because, sinceMs })
    expect(tracker.problems()).toEqual([])
  })
})

it("images that can't be listed: machines are still read", async () => {
  const { clock, guarded, fail, read, calls, reads, woken } = rig
  fail('transient')
  await expect(guarded.newestImage(REGION, IMAGE, never)).rejects.toMatchObject({ errorClass: 'transient' })
  reads.unreadable(
    { id: 'w-9', aws_region: REGION },
    'images',
    await guarded.newestImage(REGION, IMAGE, never).catch(e => e),
  )
  fail(null)
  expect(await read()).toBeNull()
  await clock.advance(30_000)
  expect(woken).toEqual(['w-9'])
  expect(calls.filter(name => name.startsWith('list'))).toEqual([])
})
