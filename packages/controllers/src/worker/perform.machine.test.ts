import { type BatchedCompute, batchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError, NotLeadingError } from '@lcm/cloud/errors'
import { simCompute } from '@lcm/cloud-sim/in-process/compute'
import { openSimModel } from '@lcm/cloud-sim/sim-model'
import { manualClock } from '@lcm/testkit/manual-clock'
import { aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { fencedCompute } from './leader-only-compute.ts'
import { changeMachine, launch, openAttempt } from './perform.ts'

const never = new AbortController().signal
let clock: ReturnType<typeof manualClock>
let compute: ReturnType<typeof simCompute>
let machines: BatchedCompute
let image: string

beforeEach(async () => {
  clock = manualClock()
  compute = simCompute(openSimModel({ seed: 1, clock }))
  machines = batchedCompute(compute)
  const newest = await compute.newestImage('us-east-1', { name_pattern: 'cml-2.9.1-*', owner: 'self' }, never)
  image = newest?.image_id ?? ''
})

const openWorker = (more: object = {}) => {
  const parameters = someLaunchParameters({ image_id: image, subnet_id: 'subnet-use1a', ...more })
  return aWorker({ launch: openAttempt(aWorker(), { n: 1, parameters }, { nowMs: clock.now(), launchSecret: '' }) })
}

describe('a launch attempt', () => {
  it('has a token that is derived from the attempt and a secret', () => {
    const token = (n: number, more: object = {}, launchSecret = 'secret') =>
      openAttempt(aWorker(), { n, parameters: someLaunchParameters(more) }, { nowMs: 0, launchSecret }).client_token
    expect(token(1)).toMatch(/^[0-9a-f]{64}$/)
    expect(token(1)).toBe(token(1, { tags: { other: 'tags' } }))
    const others = [token(2), token(1, { subnet_id: 'subnet-b' }), token(1, { instance_type: 'c5.metal' })]
    expect(new Set([token(1), ...others]).size).toBe(4)
    expect(token(1, {}, 'another secret')).not.toBe(token(1))
  })

  it('launches one machine, however often it is repeated', async () => {
    const worker = openWorker()
    const first = await launch(machines, worker, null, never)
    const second = await launch(machines, worker, null, never)
    expect(
      first.kind === 'launched' &&
        second.kind === 'launched' &&
        first.instance.instance_id === second.instance.instance_id,
    ).toBe(true)
  })

  it('returns the refusal of the cloud and its reason', async () => {
    expect(await launch(machines, openWorker({ subnet_id: 'subnet-nowhere' }), null, never)).toMatchObject({
      kind: 'refused',
      errorClass: 'invalid',
    })
  })
})

describe('a controller that lost its leadership', () => {
  it('sends nothing that changes the cloud', async () => {
    const fenced = batchedCompute(fencedCompute(compute, () => false))
    const worker = { ...openWorker(), ec2_instance_id: 'i-1' }
    await expect(launch(fenced, worker, null, never)).rejects.toBeInstanceOf(NotLeadingError)
    for (const action of [{ kind: 'start' }, { kind: 'stop', force: false }, { kind: 'terminate' }] as const) {
      await expect(changeMachine(fenced, worker, action, never), action.kind).rejects.toBeInstanceOf(NotLeadingError)
    }
    expect(await compute.list('us-east-1', { client_token: worker.launch?.client_token ?? '' }, never)).toEqual([])
  })

  it('can still read', async () => {
    const fenced = batchedCompute(fencedCompute(compute, () => false))
    expect(await fenced.list('us-east-1', { tags: { a: 'b' } }, never)).toEqual([])
  })
})

it('stops, starts and terminates the machine of the worker', async () => {
  const worker = openWorker()
  const outcome = await launch(machines, worker, null, never)
  const id = outcome.kind === 'launched' ? outcome.instance.instance_id : ''
  const running = { ...worker, ec2_instance_id: id }
  await clock.advance(10 * 60_000)
  expect(await changeMachine(machines, running, { kind: 'stop', force: false }, never)).toBe('stopping')
  await clock.advance(10 * 60_000)
  expect(await changeMachine(machines, running, { kind: 'start' }, never)).toBe('pending')
  expect(await changeMachine(machines, running, { kind: 'terminate' }, never)).toBe('shutting-down')
  const unknown = { ...running, ec2_instance_id: 'i-00000000000000000' }
  await expect(changeMachine(machines, unknown, { kind: 'terminate' }, never)).rejects.toBeInstanceOf(CloudError)
})
