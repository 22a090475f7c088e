import { CLOUD_ERROR_CLASSES, CloudError } from '@lcm/cloud/errors'
import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { toInstant } from '@lcm/domain/instant'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Worker } from '@lcm/domain/worker/worker'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { cmlLogins } from './cml-logins.ts'
import { checkIdle } from './submit-idle-evidence.ts'
import { probeSchedule } from './term-memory.ts'
import { BOOTED_MS, EPOCH, never, type SimulatedFleet, simulatedFleet } from './testing/simulated-cloud-and-api.ts'

const MINUTE_MS = 60_000
const serving = (more: Partial<Worker> = {}) => aWorker({ status: 'RUNNING', service_status: 'AVAILABLE', ...more })

describe('a probe', () => {
  it('is due at once for a new leader, and then every five minutes', () => {
    const times = probeSchedule(5 * MINUTE_MS)
    expect(times.isDue(serving(), 0)).toBe(true)
    times.requested('w-1', 0)
    expect(times.isDue(serving(), 5 * MINUTE_MS - 1)).toBe(false)
    expect(times.isDue(serving(), 5 * MINUTE_MS)).toBe(true)
    expect(probeSchedule(5 * MINUTE_MS).isDue(serving(), 1)).toBe(true)
  })

  it('is due at the configured interval', () => {
    const times = probeSchedule(20 * MINUTE_MS)
    times.requested('w-1', 0)
    expect(times.isDue(serving(), 19 * MINUTE_MS)).toBe(false)
    expect(times.isDue(serving(), 20 * MINUTE_MS)).toBe(true)
    expect(times.isDue(serving({ id: 'w-2' }), 1)).toBe(true)
  })

  it.each<[string, Partial<Worker>]>([
    ['does not run', { status: 'DRAINING' }],
    ['has no CML that answers', { service_status: 'UNAVAILABLE' }],
  ])('is not due to a worker that %s', (_, more) => {
    expect(probeSchedule(MINUTE_MS).isDue(serving(more), 0)).toBe(false)
  })

  it('is due every minute for a while after the last session was released', () => {
    const times = probeSchedule(5 * MINUTE_MS)
    const use = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom('2026-01-01T00:00:00.000Z') }
    const due = Array.from({ length: 40 }, (_, minute) => minute).filter(minute => {
      const isDue = times.isDue(serving(minute < 12 ? { reservations: { 'ls-1': use } } : {}), minute * MINUTE_MS)
      if (isDue) times.requested('w-1', minute * MINUTE_MS)
      return isDue
    })
    expect(due).toEqual([0, 5, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 26, 31, 36])
  })

  it('is dropped with the worker', () => {
    const times = probeSchedule(MINUTE_MS)
    times.requested('w-1', 0)
    times.forget('w-1')
    expect(times.isDue(serving(), 1)).toBe(true)
  })
})

describe('the evidence that is sent to the API', () => {
  let fleet: SimulatedFleet
  let machine: Instance
  let worker: Worker

  const check = (more: Partial<SimulatedFleet> = {}, on = worker) => {
    const { cml, logins, client } = { ...fleet, ...more }
    return checkIdle({ cml, logins, client }, on, { url: on.https_endpoint ?? '', epoch: EPOCH }, never)
  }
  const sent = () => fleet.plane.requestsOf('checkWorkerIdle').at(-1)

  beforeEach(async () => {
    fleet = await simulatedFleet()
    machine = await fleet.launch()
    await fleet.clock.advance(BOOTED_MS)
    worker = await fleet.workerOn(machine)
    await fleet.plane.put('workers', worker)
    fleet.setServer(machine, { opt_in: true })
  })

  it('has the activity of users without that of LCM, in the current term', async () => {
    await check()
    expect(sent()).toMatchObject({ epoch: EPOCH, body: { evidence: { last_activity_at: null, running_nodes: 0 } } })
    const at_ms = fleet.clock.now()
    fleet.model.cml.act(machine.instance_id, () => {
      const event = { category: 'start_lab', at_ms, data: { user_id: 'ada' } }
      return { status: 204, change: { events: [event] } }
    })
    await fleet.clock.advance(MINUTE_MS)
    await check()
    const at = toInstant(at_ms)
    expect(sent()?.body.evidence).toEqual({
      last_activity_at: at,
      running_nodes: 0,
      events: [{ at, category: 'start_lab', detail: 'user ada' }],
      lab_events: [],
    })
  })

  it('has the newest event of each lab separately, since only its record shows whether LCM caused it', async () => {
    const at_ms = fleet.clock.now()
    fleet.model.cml.act(machine.instance_id, () => {
      const event = { category: 'wipe_node', at_ms, data: { lab_id: 'lab-1', node_id: 'n-1' } }
      return { status: 204, change: { events: [event] } }
    })
    await check()
    expect(sent()?.body.evidence).toMatchObject({
      last_activity_at: null,
      lab_events: [{ lab_id: 'lab-1', at: toInstant(at_ms), category: 'wipe_node' }],
    })
  })

  it('is empty when telemetry is off', async () => {
    fleet.setServer(machine, { opt_in: false })
    await check()
    expect(sent()?.body).toEqual({ evidence: null, unreadable: 'telemetry_off' })
  })

  it.each(CLOUD_ERROR_CLASSES)('is empty when CML fails as %s', async errorClass => {
    const activity = () =>
      Promise.reject(new CloudError(errorClass, { code: 'Failed', action: 'GET', message: 'it failed' }))
    await check({ cml: { ...fleet.cml, activity } })
    const unreadable = errorClass === 'auth' || errorClass === 'invalid' ? 'telemetry_refused' : null
    expect(sent()?.body).toEqual({ evidence: null, unreadable })
  })

  it('is empty when CML refuses, and names the refused part', async () => {
    fleet.setServer(machine, { faults: { refused_paths: ['/telemetry'] } })
    await check()
    expect(sent()?.body).toEqual({ evidence: null, unreadable: 'telemetry_refused' })
    await check({ logins: cmlLogins(fleet.client, { username: 'admin', password: 'Not-This-One' }) })
    expect(sent()?.body).toEqual({ evidence: null, unreadable: 'login_refused' })
    await check({ logins: cmlLogins(fleet.client, null) })
    expect(sent()?.body).toEqual({ evidence: null, unreadable: 'no_credentials' })
  })

  it('is empty when the certificate is not pinned', async () => {
    await check({}, { ...worker, cml: aWorker().cml })
    expect(sent()?.body).toEqual({ evidence: null, unreadable: null })
  })

  it("leaves out the nodes when only they can't be counted", async () => {
    const stats = () => Promise.reject(new CloudError('transient', { code: 'F', action: 'GET', message: 'it failed' }))
    await check({ cml: { ...fleet.cml, stats } })
    expect(sent()?.body).toMatchObject({ evidence: { running_nodes: null } })
  })

  it('is sent to the API, whose decision is returned', async () => {
    const longAgo = '2025-12-01T00:00:00.000Z'
    await fleet.plane.edit('workers', 'w-1', { created_at: longAgo, entered_status_at: longAgo })
    await fleet.plane.set({ min_workers: 0, idle_action: 'pause' })
    expect(await check()).toMatchObject({
      verdict: 'pause',
      because: { code: 'idle_timeout', params: { worker: 'metal-1' } },
    })
    fleet.plane.fail({ route: 'checkWorkerIdle', effect: 'stale_leader', times: 1 })
    await expect(check()).rejects.toThrow('stale_leader')
  })
})
