import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig, workersOf } from './testing/scheduler-rig.ts'
import { anotherWorker, aServingWorker, aSession, atMinutes, CAPACITY } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
})

describe('a booked session', () => {
  it('is placed at once, before the next poll', async () => {
    await rig.putWorker(aServingWorker())
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    await rig.put(aSession())
    await rig.runFor(0)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    expect((await rig.worker()).reservations).toHaveProperty('s-1')
  })

  it('waits at most 100 ms for other bookings', async () => {
    await rig.putWorker(...workersOf(10))
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    for (let n = 1; n <= 20; n += 1) {
      await rig.put(aSession({ id: `s-${n}` }))
      await rig.runFor(30)
    }
    await rig.runFor(100)
    expect((await rig.plane.all('sessions')).filter(({ status }) => status !== 'SCHEDULED')).toEqual([])
  })

  it('is not placed until shortly before its timeslot, whether found by watch or by poll', async () => {
    await rig.putWorker(aServingWorker())
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    await rig.put(aSession({ timeslot: { start: atMinutes(60), end: atMinutes(120) } }))
    await rig.runFor(52 * MINUTE_MS)
    expect([(await rig.session()).status, rig.writes()]).toEqual(['PENDING', []])
    await rig.runFor(2 * MINUTE_MS)
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('is found by the poll when its change key was missed', async () => {
    await rig.putWorker(aServingWorker())
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    await rig.stopAnnouncing()
    await rig.put(aSession())
    await rig.runFor(31 * SECOND_MS)
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('is placed soon after a leader change', async () => {
    await rig.putWorker(aServingWorker())
    await rig.put(aSession())
    rig.begin()
    await rig.runFor(0)
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('gets its waiting reason written once, and is placed as soon as there is capacity', async () => {
    await rig.plane.set({ scale_up_enabled: false })
    await rig.putWorker(aServingWorker({ cordoned: true }))
    const scheduler = rig.begin()
    await rig.put(aSession())
    await rig.runFor(30 * MINUTE_MS)
    expect((await rig.session()).waiting_reason).toMatchObject({
      code: 'no_capacity',
      params: { cause: { code: 'worker_cordoned' }, scale_up: { code: 'scale_up_disabled' } },
    })
    expect(rig.writes()).toHaveLength(1)
    expect(scheduler.plan()).toMatchObject([{ resource: 'session:s-1', action: 'wait' }])
    expect(scheduler.stats()).toMatchObject({ waiting_count: 1, reasons_written_count: 1 })
    await rig.plane.edit('workers', 'w-1', { cordoned: false })
    await rig.runFor(SECOND_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', waiting_reason: null })
    expect([scheduler.plan(), scheduler.stats().waiting_count]).toEqual([[], 0])
  })

  it('is marked as unschedulable when no template can hold it', async () => {
    rig.begin()
    await rig.put(aSession({ needs: { cpu_cores: 400, memory_gb: 8, storage_gb: 1, node_count: 1 } }))
    await rig.runFor(MINUTE_MS)
    expect((await rig.session()).waiting_reason).toMatchObject({
      code: 'unschedulable',
      params: { cause: { code: 'no_template_fits' } },
    })
    expect(rig.plane.requestsOf('scaleUp')).toEqual([])
  })

  it('expires when its timeslot ends before it is placed', async () => {
    await rig.plane.set({ scale_up_enabled: false })
    const scheduler = rig.begin()
    await rig.put(aSession())
    await rig.runFor(61 * MINUTE_MS)
    expect((await rig.session()).status).toBe('EXPIRED')
    expect(scheduler.stats()).toMatchObject({ expired_count: 1, assigned_count: 0 })
  })
})

describe('many sessions', () => {
  it('are placed in the order of their start, then of their booking', async () => {
    await rig.plane.set({ scale_up_enabled: false })
    await rig.putWorker(aServingWorker())
    await rig.put(
      aSession({ id: 's-last', timeslot: { start: atMinutes(6), end: atMinutes(60) } }),
      aSession({ id: 's-c', created_at: atMinutes(-2) }),
      aSession({ id: 's-b', created_at: atMinutes(-3) }),
      aSession({ id: 's-a', created_at: atMinutes(-1) }),
      aSession({ id: 's-first', timeslot: { start: atMinutes(-5), end: atMinutes(60) } }),
    )
    rig.begin()
    await rig.runFor(SECOND_MS)
    expect(rig.plane.requestsOf('assignSession').map(({ id }) => id)).toEqual(['s-first', 's-b', 's-c', 's-a'])
    expect((await rig.session('s-last')).waiting_reason).toMatchObject({
      code: 'no_capacity',
      params: { cause: { code: 'insufficient_capacity' } },
    })
  })

  it("are placed although one of them can't be written, and the cycle is repeated", async () => {
    await rig.putWorker(...workersOf(2))
    rig.plane.fail({ route: 'assignSession', effect: 'internal_error', times: 1 })
    await rig.put(aSession(), aSession({ id: 's-2' }), aSession({ id: 's-3' }))
    rig.begin()
    await rig.runFor(2 * SECOND_MS)
    expect(rig.plane.requestsOf('assignSession').map(({ id }) => id)).toEqual(['s-1', 's-2', 's-3', 's-1'])
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('are placed in one cycle, a thousand on two hundred workers, within the capacity of each', async () => {
    await rig.putWorker(
      ...workersOf(200, {
        license: { ...aServingWorker().license, product: 'CML_Personal40' },
        capacity: { ...aServingWorker().capacity, declared: { ...CAPACITY, cpu_cores: 20, memory_gb: 40 } },
      }),
    )
    await rig.put(...Array.from({ length: 1000 }, (_, n) => aSession({ id: `s-${n}` })))
    const scheduler = rig.begin()
    await rig.runFor(0)
    expect(scheduler.stats()).toMatchObject({ assigned_count: 1000, lost_races_count: 0 })
    const used = (await rig.plane.all('workers')).map(({ capacity }) => capacity.reserved.memory_gb)
    expect(Math.max(...used)).toBeLessThanOrEqual(40)
  })
})

describe('cycles', () => {
  it('run one at a time, however many changes come in', async () => {
    await rig.plane.set({ scale_up_enabled: false })
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    let [underWay, most] = [0, 0]
    rig.plane.beforeRequest(async ({ route }) => {
      if (route !== 'listSessions') return
      underWay += 1
      most = Math.max(most, underWay)
      await rig.clock.sleep(700)
      underWay -= 1
    })
    for (let n = 1; n <= 30; n += 1) {
      await rig.put(aSession({ id: `s-${n}` }))
      await rig.runFor(50)
    }
    await rig.runFor(5 * SECOND_MS)
    expect(most).toBe(1)
    expect(rig.plane.requestsOf('listSessions').length).toBeLessThan(10)
  })

  it('store one plan, write nothing more and read only what runs when no session waits', async () => {
    await rig.putWorker(aServingWorker(), anotherWorker({ status: 'STOPPED', desired_status: 'STOPPED' }))
    const scheduler = rig.begin()
    await rig.runFor(10 * MINUTE_MS)
    expect(rig.writes()).toEqual([])
    expect(rig.plane.requestsOf('putPlan')).toHaveLength(1)
    const reads = rig.plane.requestsOf('listWorkers')
    expect(reads.every(({ query }) => query.get('desired_status') === 'RUNNING')).toBe(true)
    expect(rig.plane.requestsOf('listTemplates')).toEqual([])
    expect(scheduler.stats().cycles_count).toBeGreaterThanOrEqual(20)
  })

  it('read the workers of placed sessions that do not run one by one', async () => {
    await rig.putWorker(...workersOf(3), anotherWorker({ id: 'w-9', desired_status: 'STOPPED' }))
    const timeslot = { start: atMinutes(10), end: atMinutes(60) }
    await rig.put(aSession({ status: 'RUNNING', worker_id: 'w-1', timeslot }))
    await rig.put(aSession({ id: 's-2', status: 'RUNNING', worker_id: 'w-9', timeslot }))
    rig.begin()
    await rig.runFor(4 * MINUTE_MS)
    const cycles = rig.plane.requestsOf('listSessions').length
    expect(cycles).toBeGreaterThan(4)
    expect(rig.plane.requestsOf('listWorkers')).toHaveLength(cycles)
    expect(rig.plane.requestsOf('getWorker')).toHaveLength(cycles)
    expect([rig.plane.requestsOf('listTemplates'), rig.writes()]).toEqual([[], []])
  })

  it('continue after the deletion of a watched key, also without a poll', async () => {
    await rig.plane.set({ scale_up_enabled: false })
    rig.begin('one', { pollingEnabled: false })
    await rig.put(aSession())
    await rig.coordination.changeKeys.remove('/lcm/sessions/s-9', 5)
    await rig.runFor(11 * MINUTE_MS)
    // The key goes with the first write after its time.
    await rig.coordination.changeKeys.remove('/lcm/sessions/s-8', 5)
    await rig.runFor(MINUTE_MS)
    rig.plane.requests.length = 0
    await rig.runFor(5 * MINUTE_MS)
    expect(rig.plane.requestsOf('listSessions')).toHaveLength(10)
  })

  it('run at once on a trigger', async () => {
    const scheduler = rig.begin()
    await rig.runFor(10 * SECOND_MS)
    await rig.putWorker(aServingWorker())
    await rig.stopAnnouncing()
    await rig.put(aSession())
    expect(scheduler.loop.triggerNow()).toBe(true)
    await rig.runFor(0)
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('are not triggered by their own writes', async () => {
    await rig.plane.set({ scale_up_enabled: false })
    rig.coordination.faults.setDelivery(() => ({ delayMs: 20 }))
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    rig.plane.requests.length = 0
    await rig.put(aSession())
    await rig.runFor(5 * SECOND_MS)
    expect((await rig.session()).waiting_reason).not.toBeNull()
    expect(rig.plane.requestsOf('listSessions')).toHaveLength(1)
  })

  it('wait while the API is down, and then catch up', async () => {
    await rig.putWorker(aServingWorker())
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    await rig.put(aSession(), aSession({ id: 's-2' }))
    let writes = 0
    rig.plane.beforeRequest(({ route }) => {
      if (route !== 'assignSession') return
      writes += 1
      if (writes === 2) rig.plane.fail({ effect: 'unreachable' })
    })
    await rig.runFor(MINUTE_MS)
    rig.plane.heal()
    await rig.runFor(2 * MINUTE_MS)
    expect([(await rig.session()).status, (await rig.session('s-2')).status]).toEqual(['SCHEDULED', 'SCHEDULED'])
    expect(Object.keys((await rig.worker()).reservations).sort()).toEqual(['s-1', 's-2'])
  })
})

describe('the status of this instance', () => {
  it('counts its sessions and plans the placement of later ones', async () => {
    await rig.putWorker(aServingWorker())
    const scheduler = rig.begin()
    await rig.put(aSession(), aSession({ id: 's-2', timeslot: { start: atMinutes(95), end: atMinutes(120) } }))
    await rig.runFor(5 * SECOND_MS)
    expect(scheduler.health()).toEqual({ sessions_managed: 2 })
    expect(scheduler.plan()).toMatchObject([{ resource: 'session:s-2', action: 'place', due_at: atMinutes(88) }])
    expect(rig.meter.value('resource_scheduler_assigned_total')).toBe(1)
  })

  it('is empty while another instance leads', async () => {
    const [one, two] = [rig.begin('one'), rig.begin('two')]
    await rig.put(aSession({ timeslot: { start: atMinutes(95), end: atMinutes(120) } }))
    await rig.runFor(5 * SECOND_MS)
    expect([one.health().sessions_managed, two.health().sessions_managed]).toEqual([1, 0])
    rig.coordination.faults.loseLease('resource-scheduler')
    await rig.runFor(5 * SECOND_MS)
    expect([one.health().sessions_managed, two.health().sessions_managed]).toEqual([0, 1])
    expect(one.plan()).toEqual([])
  })
})
