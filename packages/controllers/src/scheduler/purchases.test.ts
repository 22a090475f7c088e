import { textReason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import { NEVER_PAUSED } from '@lcm/domain/worker/worker-field-schemas'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { aServingWorker, aSession, atMinutes } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const LONG = { start: atMinutes(0), end: atMinutes(600) }

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
})

const bought = async () => (await rig.plane.all('workers')).filter(({ origin }) => origin === 'SCALE_UP')
const change = (worker: Worker, more: Partial<Worker>) => rig.putWorker({ ...worker, ...more })
const sessions = (count: number) => Array.from({ length: count }, (_, n) => aSession({ id: `s-${n}`, timeslot: LONG }))
const aSleeper = (more: Partial<Worker> = {}) =>
  aServingWorker({
    status: 'STOPPED',
    desired_status: 'STOPPED',
    service_status: 'UNAVAILABLE',
    pause: { ...NEVER_PAUSED, reason: textReason('idle') },
    ...more,
  })

describe('sessions without capacity', () => {
  it('are packed, and their workers are bought in one purchase', async () => {
    const scheduler = rig.begin()
    await rig.put(...sessions(6))
    await rig.runFor(5 * SECOND_MS)
    expect(await bought()).toHaveLength(2)
    expect(rig.plane.requestsOf('scaleUp')).toMatchObject([{ body: { count: 2, template_name: 'metal' }, epoch: 1 }])
    expect(scheduler.stats()).toMatchObject({ scale_up_requested_count: 1 })
  })

  it('cause no further purchase in a hundred cycles while their worker boots, and are placed then', async () => {
    const needs = { license_affinity: ['CML_Enterprise'], cml_version: { min: '2.9', max: null } }
    await rig.plane.edit('definitions', 'ld-1', needs)
    rig.begin()
    await rig.put(...sessions(4))
    const stages: Partial<Worker>[] = [
      { status: 'PROVISIONING' },
      { status: 'STARTING' },
      { status: 'RUNNING', service_status: 'STARTING' },
      { service_status: 'AVAILABLE', cml: { ...aServingWorker().cml } },
    ]
    await rig.runFor(MINUTE_MS)
    for (const stage of stages) {
      const written = rig.writes().length
      for (const worker of await bought()) await change(worker, stage)
      await rig.runFor(25 * 30 * SECOND_MS)
      expect(rig.writes().length - written).toBeLessThanOrEqual(4)
    }
    expect(await bought()).toHaveLength(1)
    expect(await rig.session('s-0')).toMatchObject({ status: 'PENDING' })
    for (const worker of await bought()) await change(worker, { license: aServingWorker().license })
    await rig.runFor(5 * SECOND_MS)
    expect((await rig.plane.all('sessions')).map(({ status }) => status)).toEqual(Array(4).fill('SCHEDULED'))
    expect(rig.plane.requestsOf('scaleUp')).toHaveLength(1)
  })

  it('cause one purchase when the response is lost', async () => {
    rig.begin()
    rig.plane.fail({ route: 'scaleUp', effect: 'lost_response', times: 1 })
    await rig.put(...sessions(4))
    await rig.runFor(10 * MINUTE_MS)
    expect(await bought()).toHaveLength(1)
  })

  it('cause another purchase when the first has failed and the cooldown is over', async () => {
    rig.begin()
    await rig.put(...sessions(4))
    await rig.runFor(MINUTE_MS)
    for (const worker of await bought()) await change(worker, { status: 'FAILED' })
    await rig.runFor(3 * MINUTE_MS)
    expect(await bought()).toHaveLength(1)
    expect((await rig.session('s-0')).waiting_reason).toMatchObject({
      code: 'scale_up_refused',
      params: { refusal: { code: 'scale_up_cooldown', params: { template: 'metal', seconds: expect.any(Number) } } },
    })
    await rig.runFor(2 * MINUTE_MS)
    expect(await bought()).toHaveLength(2)
    await rig.runFor(30 * MINUTE_MS)
    expect(await bought()).toHaveLength(2)
  })

  it('D5: are bought workers while those for the sessions of another hour still boot', async () => {
    rig.begin()
    await rig.put(...sessions(4))
    await rig.runFor(MINUTE_MS)
    expect(await bought()).toHaveLength(1)
    for (const worker of await bought()) await change(worker, { status: 'STARTING' })
    const nextHour = { start: atMinutes(61), end: atMinutes(600) }
    await rig.put(...[5, 6, 7, 8].map(n => aSession({ id: `s-${n}`, timeslot: nextHour })))
    await rig.runFor(31 * MINUTE_MS)
    expect(await bought()).toHaveLength(2)
    await rig.runFor(30 * MINUTE_MS)
    expect(await bought()).toHaveLength(2)
  })

  it('get a refusal written once, although its remaining seconds change', async () => {
    rig.begin()
    await rig.put(...sessions(1))
    await rig.runFor(MINUTE_MS)
    for (const worker of await bought()) await change(worker, { status: 'FAILED' })
    await rig.runFor(SECOND_MS)
    rig.plane.requests.length = 0
    await rig.runFor(3 * MINUTE_MS)
    expect(rig.plane.requestsOf('scaleUp').length).toBeGreaterThan(4)
    expect(rig.plane.requestsOf('reportSession')).toEqual([])
  })

  it('leave the stored plan as it is while their purchase is refused', async () => {
    rig.plane.fail({ route: 'scaleUp', effect: 'scale_up_rejected' })
    await rig.put(...sessions(1))
    rig.begin()
    await rig.runFor(10 * MINUTE_MS)
    expect(rig.plane.requestsOf('scaleUp').length).toBeGreaterThan(10)
    expect(rig.plane.requestsOf('putPlan').length).toBeLessThanOrEqual(2)
  })

  it('cause no purchase in a cycle with failed writes', async () => {
    await rig.putWorker(aServingWorker())
    rig.plane.fail({ route: 'assignSession', effect: 'internal_error', times: 1 })
    rig.begin()
    await rig.put(...sessions(8))
    await rig.runFor(10 * SECOND_MS)
    const order = rig.plane.requests.map(({ route }) => route)
    const cycles = order.filter(route => route === 'listSessions' || route === 'scaleUp')
    expect(cycles.slice(0, 2)).toEqual(['listSessions', 'listSessions'])
    expect(cycles).toContain('scaleUp')
    expect(await bought()).toHaveLength(1)
  })
})

describe('a worker that a policy stopped', () => {
  it('is started before anything is bought, with one request', async () => {
    await rig.putWorker(aSleeper())
    const scheduler = rig.begin()
    await rig.put(...sessions(2))
    await rig.runFor(9 * MINUTE_MS)
    expect((await rig.worker()).desired_status).toBe('RUNNING')
    expect((await rig.session('s-0')).waiting_reason).toMatchObject({
      code: 'waiting_for_worker',
      params: { worker: 'metal-1' },
    })
    expect([rig.plane.requestsOf('resumeWorker').length, rig.plane.requestsOf('scaleUp').length]).toEqual([1, 0])
    expect(scheduler.stats()).toMatchObject({ resumed_count: 1 })
  })

  it('is terminated only if the setting allows it, and not asked for again where the API keeps it', async () => {
    const { license, ...sleeper } = aSleeper()
    await rig.putWorker({
      ...{ ...sleeper, origin: 'SCALE_UP', disk: { gb: 200, usd_per_hour: 0.02 } },
      license: { ...license, product: null },
    })
    rig.begin()
    await rig.runFor(10 * MINUTE_MS)
    expect((await rig.worker()).desired_status).toBe('STOPPED')
    await rig.plane.send('PATCH', 'settings', { json: { terminate_sleeping: true } })
    rig.plane.fail({ route: 'retireWorker', effect: 'worker_held' })
    await rig.runFor(10 * MINUTE_MS)
    expect(rig.plane.requestsOf('retireWorker')).toHaveLength(1)
    rig.plane.heal()
    await rig.runFor(10 * MINUTE_MS)
    expect(rig.plane.requestsOf('retireWorker')).toHaveLength(1)
  })

  it('is terminated when the plan does not need it', async () => {
    const { license, ...sleeper } = aSleeper()
    await rig.putWorker({
      ...{ ...sleeper, origin: 'SCALE_UP', disk: { gb: 200, usd_per_hour: 0.02 } },
      license: { ...license, product: null },
    })
    await rig.plane.send('PATCH', 'settings', { json: { terminate_sleeping: true } })
    const scheduler = rig.begin()
    await rig.runFor(10 * MINUTE_MS)
    expect(await rig.worker()).toMatchObject({
      desired_status: 'TERMINATED',
      desired_by: 'calendar',
      desired_reason: expect.stringContaining('its disk costs'),
    })
    expect(scheduler.stats()).toMatchObject({ retired_count: 1 })
  })

  it('and that an operator holds is skipped, and not requested again until it changes', async () => {
    await rig.putWorker(aSleeper())
    rig.plane.fail({ route: 'resumeWorker', effect: 'worker_held' })
    rig.begin()
    await rig.put(...sessions(2))
    await rig.runFor(10 * MINUTE_MS)
    expect(rig.plane.requestsOf('resumeWorker')).toHaveLength(1)
    expect(await bought()).toHaveLength(1)
    for (const worker of await bought()) await change(worker, { status: 'FAILED' })
    rig.plane.heal()
    await change(await rig.worker(), { desired_by: 'idle' })
    await rig.runFor(MINUTE_MS)
    expect((await rig.worker()).desired_status).toBe('RUNNING')
  })

  it('is not woken beyond the budget, but as soon as that is raised', async () => {
    await rig.plane.set({ budget_usd_per_day: 1 })
    await rig.putWorker(aSleeper())
    rig.begin()
    await rig.put(...sessions(2))
    await rig.runFor(5 * MINUTE_MS)
    expect((await rig.worker()).desired_status).toBe('STOPPED')
    const { waiting_reason } = await rig.session('s-0')
    expect(waiting_reason).toMatchObject({ code: 'scale_up_refused', params: { refusal: { code: 'budget_exceeded' } } })
    expect(await bought()).toEqual([])
    rig.plane.requests.length = 0
    await rig.runFor(5 * MINUTE_MS)
    expect(rig.plane.requestsOf('reportSession')).toEqual([])
    await rig.plane.set({ budget_usd_per_day: 1000 })
    await rig.runFor(MINUTE_MS)
    expect((await rig.worker()).desired_status).toBe('RUNNING')
  })
})
