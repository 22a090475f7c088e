import { getEventListeners } from 'node:events'
import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { expect, it } from 'vitest'
import type { Election, Leadership } from './election.ts'
import { allOf, type HostedService, HostedServiceError, host, leaderElected } from './hosted-service.ts'
import { aborted } from './linked-abort.ts'

const events: string[] = []
const serving = (name: string): HostedService => ({
  name,
  async run(signal) {
    events.push(`${name} started`)
    await aborted(signal)
    events.push(`${name} ended`)
  },
})
const failing = (name: string, error: unknown): HostedService => ({
  name,
  run: () => Promise.reject(error),
})
const noted = () => events.splice(0)

it('runs all services until the signal aborts', async () => {
  const stop = new AbortController()
  const over = host([serving('api'), serving('controller')], stop.signal)
  expect(noted()).toEqual(['api started', 'controller started'])
  stop.abort()
  await over
  expect(noted()).toEqual(['api ended', 'controller ended'])
})

it('reports a service that fails, stops the others and rejects', async () => {
  const logger = recordingLogger()
  const cause = new Error('port in use')
  const { signal } = new AbortController()
  const failure = await host([serving('api'), failing('console', cause)], signal, { logger }).catch(error => error)
  expect(failure).toBeInstanceOf(HostedServiceError)
  expect(failure).toMatchObject({ message: 'console: port in use', service: 'console', cause })
  expect(noted()).toEqual(['api started', 'api ended'])
  expect(logger.lines).toMatchObject([{ level: 'error', fields: { service: 'console', err: cause } }])
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('treats a service that ends without a stop as failed', async () => {
  const ending: HostedService = { name: 'brief', run: async () => undefined }
  await expect(host([ending], new AbortController().signal)).rejects.toThrow('brief: ended without a stop request')
})

it('treats a service that throws before its first await as failed', async () => {
  const throwing: HostedService = {
    name: 'hasty',
    run() {
      throw new Error('no config')
    },
  }
  await expect(host([throwing], new AbortController().signal)).rejects.toThrow('hasty: no config')
})

it('reports every failure when there are several', async () => {
  const over = host([failing('one', 'first'), failing('two', 'second')], new AbortController().signal)
  await expect(over).rejects.toThrow('HostedServiceError: one: first; HostedServiceError: two: second')
})

it('groups services as one, in order, under the same leadership', async () => {
  const stop = new AbortController()
  const leadership: Leadership = { epoch: 7, signal: stop.signal, isHeld: () => true }
  const epochs: unknown[] = []
  const led = (name: string): HostedService => ({
    name,
    run(signal, given) {
      epochs.push([name, given?.epoch])
      return aborted(signal)
    },
  })
  const over = allOf('worker-controller', [led('reconciler'), led('metrics'), led('discovery')]).run(
    stop.signal,
    leadership,
  )
  stop.abort()
  await over
  expect(epochs).toEqual([
    ['reconciler', 7],
    ['metrics', 7],
    ['discovery', 7],
  ])
})

it('reports the failure of one service in a group with both names', async () => {
  const group = allOf('worker-controller', [failing('metrics', new Error('no'))])
  await expect(host([group], new AbortController().signal)).rejects.toThrow('worker-controller: metrics: no')
})

/** An election that the test controls. */
function anElection() {
  const waiting: ((leadership: Leadership | null) => void)[] = []
  const calls: string[] = []
  const election: Election = {
    instanceId: 'me',
    campaign(signal) {
      calls.push('campaign')
      return new Promise(resolve => {
        waiting.push(resolve)
        signal.addEventListener('abort', () => resolve(null))
      })
    },
    async resign(options) {
      calls.push(options?.forGood ? 'resign for good' : 'resign')
    },
    status: () => ({ state: 'STANDBY', leader_id: null, term: null, since: null }),
  }
  const win = (epoch: number) => {
    const lease = new AbortController()
    waiting.shift()?.({ epoch, signal: lease.signal, isHeld: () => !lease.signal.aborted })
    return lease
  }
  return { election, calls, win }
}

const settle = () => manualClock().advance(0)

/** Records each term, and ends it asynchronously. */
function aService(calls: string[]) {
  const service: HostedService = {
    name: 'service',
    async run(signal, leadership) {
      calls.push(`lead ${leadership?.epoch}`)
      await aborted(signal)
      calls.push(leadership?.signal.aborted ? 'lost' : 'asked to stop')
      await settle()
      calls.push('ended')
    },
  }
  return service
}

it('runs the service only while this instance leads, and again in the next term', async () => {
  const { election, calls, win } = anElection()
  const stop = new AbortController()
  const over = leaderElected(aService(calls), election).run(stop.signal)
  await settle()
  expect(calls).toEqual(['campaign'])
  const lease = win(1)
  await settle()
  lease.abort()
  await settle()
  await settle()
  expect(calls).toEqual(['campaign', 'lead 1', 'lost', 'ended', 'campaign'])
  win(2)
  await settle()
  stop.abort()
  await over
  expect(calls.slice(5)).toEqual(['lead 2', 'asked to stop', 'ended', 'resign for good'])
})

it('resigns only after the service has finished, and leaves no listener on its signal', async () => {
  const { election, calls, win } = anElection()
  const stop = new AbortController()
  const over = leaderElected(aService(calls), election).run(stop.signal)
  const lease = win(1)
  await settle()
  stop.abort()
  expect(lease.signal.aborted).toBe(false)
  await over
  expect(calls.slice(-2)).toEqual(['ended', 'resign for good'])
  expect(getEventListeners(lease.signal, 'abort')).toEqual([])
})

it('ends without a term when it is stopped during standby', async () => {
  const { election, calls } = anElection()
  const stop = new AbortController()
  const over = leaderElected(aService(calls), election).run(stop.signal)
  stop.abort()
  await over
  expect(calls).toEqual(['campaign', 'resign for good'])
})

it('resigns and reports when the service fails', async () => {
  const { election, calls, win } = anElection()
  const failing: HostedService = { name: 'failing', run: () => Promise.reject(new Error('broken')) }
  const over = leaderElected(failing, election).run(new AbortController().signal)
  win(1)
  await expect(over).rejects.toThrow('broken')
  expect(calls).toEqual(['campaign', 'resign for good'])
})

it('treats a service that ends while it leads as failed', async () => {
  const { election, win } = anElection()
  const brief: HostedService = { name: 'brief', run: async () => undefined }
  const over = leaderElected(brief, election).run(new AbortController().signal)
  win(1)
  await expect(over).rejects.toThrow('ended without a stop request')
})

it('keeps the other members of the service', () => {
  const { election } = anElection()
  const service = { ...aService([]), health: () => 'fine' }
  expect(leaderElected(service, election).health()).toBe('fine')
})
