import { setMaxListeners } from 'node:events'
import type { CmlProbe, CmlSystem } from '@lcm/cloud/cml-system'
import type { Worker } from '@lcm/domain/worker/worker'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { onMachine } from '@lcm/testkit/observation-builders'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { beforeEach, expect, it } from 'vitest'
import { cmlChecks } from './cml-checks.ts'

const INTERVAL_MS = 15_000
const READY: CmlProbe = { stage: 'READY', version: '2.9.1', certificate_sha256: null, detail: '' }

let clock: ManualClock
let asked: [number, string][]
let suspected: [number, string][]
let answer: CmlSystem['probe']
let log: ReturnType<typeof recordingLogger>
let checks: ReturnType<typeof cmlChecks>
let stop: AbortController
let startMs: number

const url = (id: string) => `https://${id}.invalid`
const aWorker = (id: string, more: Partial<Worker> = {}) =>
  onMachine({ id, public_ip: `${id}.invalid`, https_endpoint: url(id), ...more })
const since = () => clock.monotonic() - startMs

beforeEach(() => {
  clock = manualClock()
  startMs = clock.monotonic()
  asked = []
  suspected = []
  answer = async () => READY
  log = recordingLogger()
  stop = new AbortController()
  // As the signal of a term is.
  setMaxListeners(0, stop.signal)
  const probe: CmlSystem['probe'] = (endpoint, signal) => {
    asked.push([since(), endpoint.url])
    return answer(endpoint, signal)
  }
  const onSuspect = (id: string) => void suspected.push([since(), id])
  checks = cmlChecks({ cml: { probe }, clock, logger: log, intervalMs: INTERVAL_MS, onSuspect })
  void checks.run(stop.signal)
})

it('each CML that serves is checked once per interval, however often its worker is reconciled', async () => {
  checks.reconciled(aWorker('w-1'))
  for (let second = 0; second < 60; second += 1) {
    await clock.advance(1_000)
    checks.reconciled(aWorker('w-1'))
  }
  expect(asked.length).toBeGreaterThanOrEqual(3)
  expect(asked.length).toBeLessThanOrEqual(4)
  expect(suspected).toEqual([])
})

it.each<[string, Partial<Worker>]>([
  ['stopped', { status: 'STOPPED' }],
  ['booting', { status: 'STARTING', service_status: 'STARTING' }],
  ['silent, which the reconciler probes', { service_status: 'UNAVAILABLE' }],
  ['without an address', { https_endpoint: null }],
  ['that needs an approval', { launch: null }],
])('a worker that is %s is not checked', async (_, more) => {
  checks.reconciled(aWorker('w-1'))
  checks.reconciled(aWorker('w-1', more))
  await clock.advance(10 * INTERVAL_MS)
  expect(asked).toEqual([])
})

it('a failed check is confirmed a moment later, unless the worker has changed meanwhile', async () => {
  answer = async () => ({ ...READY, stage: 'GATEWAY', detail: 'answered 500' })
  checks.reconciled(aWorker('w-1'))
  checks.reconciled(aWorker('w-2'))
  await clock.advance(INTERVAL_MS + 500)
  checks.reconciled(aWorker('w-2', { status: 'STOPPING' }))
  await clock.advance(1_000)
  expect(suspected.map(([, id]) => id)).toEqual(['w-1'])
})

it('hundreds of servers that hang delay no other', async () => {
  answer = ({ url: to }) =>
    to === url('w-good') ? Promise.resolve(READY) : clock.sleep(3_000).then(() => ({ ...READY, stage: 'TLS' as const }))
  for (let n = 0; n < 600; n += 1) checks.reconciled(aWorker(`w-${n}`))
  checks.reconciled(aWorker('w-good'))
  await clock.advance(10 * INTERVAL_MS)
  const times = asked.filter(([, to]) => to === url('w-good')).map(([ms]) => ms)
  expect(times.length).toBeGreaterThanOrEqual(6)
  expect(new Set(suspected.map(([, id]) => id)).size).toBe(600)
})

it('an error is logged, and the next check follows', async () => {
  answer = async () => Promise.reject(new Error('no memory'))
  checks.reconciled(aWorker('w-1'))
  await clock.advance(3 * INTERVAL_MS)
  expect(asked.length).toBeGreaterThan(1)
  expect(log.messages('warn')[0]).toBe('could not check a worker')
  expect(suspected).toEqual([])
})

it('a term forgets the workers of the one before', async () => {
  checks.reconciled(aWorker('w-1'))
  stop.abort()
  await clock.advance(INTERVAL_MS)
  void checks.run(new AbortController().signal)
  await clock.advance(10 * INTERVAL_MS)
  expect(asked).toEqual([])
})
