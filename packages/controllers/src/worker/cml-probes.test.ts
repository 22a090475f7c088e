import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import type { BodyInput } from '@lcm/contract/routes'
import { textReason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import { silentMeter } from '@lcm/runtime'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { settingsCache } from '../kit/settings-cache.ts'
import { type CmlProbes, cmlProbes } from './cml-probes.ts'
import { type WorkerCounters, workerCounters } from './report.ts'
import { BOOTED_MS, EPOCH, type SimulatedFleet, simulatedFleet } from './testing/simulated-cloud-and-api.ts'

let fleet: SimulatedFleet
let counting: WorkerCounters
let woken: string[]
let clearPart: string[]
let log: ReturnType<typeof recordingLogger>
let probes: CmlProbes
let stop: AbortController
let ended: Promise<void>

const LONG_AGO = '2025-12-01T00:00:00.000Z'
/** A worker that was never used since it was started. */
const UNUSED = { created_at: LONG_AGO, entered_status_at: LONG_AGO }
const settle = () => fleet.clock.advance(0)
const counted = () => counting.snapshot(0)
const UNREGISTERED = { kind: 'seen', registration: 'NOT_REGISTERED' }

function begin(cml: CmlSystem = fleet.cml): void {
  const { client, clock, logins } = fleet
  const settings = settingsCache({ client, clock })
  const wake = (id: string) => void woken.push(id)
  const access = { clearPart: (_: unknown, part: string) => void clearPart.push(part) }
  probes = cmlProbes({ client, cml, logins, settings, counters: counting, logger: log, access, wake })
  stop = new AbortController()
  ended = probes.run(stop.signal)
}

/** A server that returns its node definitions only once it is released. */
function heldUp(): { cml: CmlSystem; asked: string[]; release(): void } {
  const waiting: (() => void)[] = []
  const asked: string[] = []
  const cml: CmlSystem = {
    ...fleet.cml,
    async nodeDefinitions(login) {
      asked.push(login.url)
      await new Promise<void>(resolve => waiting.push(resolve))
      return ['alpine']
    },
  }
  return {
    cml,
    asked,
    release() {
      for (const go of waiting.splice(0)) go()
    },
  }
}

async function aServer(more: Partial<Worker> = {}) {
  const machine = await fleet.launch()
  await fleet.clock.advance(BOOTED_MS)
  fleet.setServer(machine, { opt_in: true })
  const worker = await fleet.workerOn(machine, more)
  await fleet.plane.put('workers', worker)
  return worker
}

beforeEach(async () => {
  fleet = await simulatedFleet()
  counting = workerCounters(silentMeter)
  woken = []
  clearPart = []
  log = recordingLogger()
})

describe('a probe of a CML', () => {
  it('leaves out values that the API would refuse: one long name must not prevent the write', async () => {
    const worker = await aServer()
    begin({ ...fleet.cml, nodeDefinitions: async () => ['alpine', 'x'.repeat(129), 'y'.repeat(128)] })
    probes.request(worker, EPOCH)
    await settle()
    expect(probes.latest(worker.id)?.nodeDefinitions).toEqual(['alpine', 'y'.repeat(128)])
    stop.abort()
    await ended
  })

  it('reads license and node definitions, sends the idle evidence, and wakes the worker', async () => {
    const worker = await aServer()
    begin()
    probes.request(worker, EPOCH)
    expect(probes.latest('w-1')).toBeNull()
    await settle()
    expect(probes.latest('w-1')).toMatchObject({ license: UNREGISTERED })
    expect(probes.latest('w-1')?.nodeDefinitions).toContain('alpine')
    expect(fleet.plane.requestsOf('checkWorkerIdle')).toMatchObject([{ id: 'w-1', epoch: EPOCH }])
    expect(woken).toEqual(['w-1'])
  })

  it.each<[string, BodyInput<'patchSettings'>, object]>([
    [
      'pause',
      { min_workers: 0, idle_action: 'pause' },
      { idle_detection_count: 1, auto_pause_count: 1, scale_down_drain_count: 0 },
    ],
    [
      'drain',
      { min_workers: 0, idle_action: 'drain', scale_down_enabled: true },
      { idle_detection_count: 1, auto_pause_count: 0, scale_down_drain_count: 1 },
    ],
    [
      'skipped_min_workers',
      { min_workers: 1, idle_action: 'pause' },
      { idle_detection_count: 1, auto_pause_count: 0, scale_down_drain_count: 0 },
    ],
  ])('is counted once the API has decided: %s', async (_, settings, expected) => {
    const worker = await aServer(UNUSED)
    await fleet.plane.set(settings)
    begin()
    probes.request(worker, EPOCH)
    await settle()
    expect(counted()).toMatchObject(expected)
  })

  it('is not counted, and reports no idleness, when the API does not answer', async () => {
    const worker = await aServer(UNUSED)
    await fleet.plane.set({ min_workers: 0, idle_action: 'pause' })
    fleet.plane.fail({ route: 'checkWorkerIdle', effect: 'store_unavailable', times: 1 })
    begin()
    probes.request(worker, EPOCH)
    await settle()
    expect(counted()).toMatchObject({ idle_detection_count: 0, auto_pause_count: 0 })
    expect(log.messages('warn')).toEqual(['could not probe a worker'])
  })

  it.each<[string, Partial<Worker>, BodyInput<'patchSettings'>]>([
    ['this worker', { idle_detection_enabled: false }, {}],
    ['all workers', {}, { idle_detection_enabled: false }],
  ])('sends no idle evidence for %s', async (_, unwatched, settings) => {
    const worker = await aServer(unwatched)
    await fleet.plane.set(settings)
    begin()
    probes.request(worker, EPOCH)
    await settle()
    expect(probes.latest('w-1')).not.toBeNull()
    expect([fleet.plane.requestsOf('checkWorkerIdle'), woken]).toEqual([[], ['w-1']])
    expect(clearPart, 'an earlier refusal is obsolete').toEqual(['telemetry', 'telemetry_off'])
  })

  it('sends empty evidence when CML does not answer', async () => {
    const SILENT = 'https://127.64.99.99'
    const worker = { ...(await aServer()), https_endpoint: SILENT, public_ip: '127.64.99.99' }
    begin()
    probes.request(worker, EPOCH)
    await settle()
    expect(probes.latest('w-1')).toMatchObject({ license: { kind: 'unknown' }, nodeDefinitions: null })
    expect(fleet.plane.requestsOf('checkWorkerIdle')).toMatchObject([{ body: { evidence: null } }])
  })

  it('is not sent when the record has the address of another machine', async () => {
    begin()
    probes.request({ ...(await aServer()), https_endpoint: 'https://127.64.99.99:8443' }, EPOCH)
    await settle()
    expect([probes.latest('w-1'), woken]).toEqual([null, []])
  })

  it('is not sent to a worker without an address', async () => {
    begin()
    probes.request(aWorker({ status: 'RUNNING' }), EPOCH)
    await settle()
    expect([probes.latest('w-1'), fleet.plane.requests, woken]).toEqual([null, [], []])
  })
})

describe('the result of a probe', () => {
  it('is ignored when CML was read since the probe began', async () => {
    const worker = await aServer()
    const { cml, release } = heldUp()
    begin(cml)
    probes.request(worker, EPOCH)
    await settle()
    probes.record('w-1', null)
    release()
    await settle()
    expect(probes.latest('w-1')).toBeNull()
  })

  it('is replaced by a newer read, and dropped with the worker', async () => {
    const worker = await aServer()
    begin()
    probes.request(worker, EPOCH)
    await settle()
    probes.record('w-1', { license: { kind: 'unknown', because: textReason('silent') }, nodeDefinitions: ['ios'] })
    expect(probes.latest('w-1')).toMatchObject({ nodeDefinitions: ['ios'] })
    probes.forget('w-1')
    expect(probes.latest('w-1')).toBeNull()
  })

  it('is dropped with the term', async () => {
    const worker = await aServer()
    begin()
    probes.request(worker, EPOCH)
    await settle()
    stop.abort()
    await ended
    void probes.run(new AbortController().signal)
    expect(probes.latest('w-1')).toBeNull()
  })
})

describe('a finished probe', () => {
  it('keeps no copy of the worker in memory', async () => {
    const worker = await aServer()
    begin()
    const asItWas = requestOnce(worker)
    await settle()
    expect(probes.latest('w-1')).not.toBeNull()
    collectGarbage()
    expect(asItWas.deref()).toBeUndefined()
  })
})

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Only the probe holds this copy. */
function requestOnce(worker: Awaited<ReturnType<typeof aServer>>): WeakRef<object> {
  const copy = { ...worker }
  probes.request(copy, EPOCH)
  return new WeakRef(copy)
}

describe('many probes', () => {
  it('run fifty at a time', async () => {
    const worker = await aServer()
    const { cml, asked, release } = heldUp()
    begin(cml)
    for (let n = 0; n < 60; n += 1) probes.request({ ...worker, id: `w-${n}` }, EPOCH)
    await settle()
    expect(asked).toHaveLength(50)
    release()
    await settle()
    expect(asked).toHaveLength(60)
  })

  it('of one worker are folded while it waits', async () => {
    const worker = await aServer()
    const { cml, asked, release } = heldUp()
    begin(cml)
    for (let n = 0; n < 50; n += 1) probes.request({ ...worker, id: `busy-${n}` }, EPOCH)
    for (let n = 0; n < 3; n += 1) probes.request(worker, EPOCH)
    await settle()
    release()
    await settle()
    expect(asked).toHaveLength(51)
  })

  it('end with the term, and no new one starts', async () => {
    const worker = await aServer()
    const { cml, asked, release } = heldUp()
    begin(cml)
    for (let n = 0; n < 60; n += 1) probes.request({ ...worker, id: `w-${n}` }, EPOCH)
    await settle()
    stop.abort()
    release()
    await settle()
    await ended
    expect(asked).toHaveLength(50)
  })
})
