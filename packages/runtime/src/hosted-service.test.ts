import { getEventListeners } from 'node:events'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { expect, it } from 'vitest'
import type { Leadership } from './election.ts'
import { allOf, type HostedService, HostedServiceError, host } from './hosted-service.ts'
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

it('takes a service that ends unasked as failed', async () => {
  const ending: HostedService = { name: 'brief', run: async () => undefined }
  await expect(host([ending], new AbortController().signal)).rejects.toThrow('brief: ended although nobody asked it to')
})

it('takes a service that throws before its first await as failed', async () => {
  const throwing: HostedService = {
    name: 'hasty',
    run() {
      throw new Error('no config')
    },
  }
  await expect(host([throwing], new AbortController().signal)).rejects.toThrow('hasty: no config')
})

it('tells of every failure when there are several', async () => {
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

it('lets the failure of one in a group surface with both names', async () => {
  const group = allOf('worker-controller', [failing('metrics', new Error('no'))])
  await expect(host([group], new AbortController().signal)).rejects.toThrow('worker-controller: metrics: no')
})
