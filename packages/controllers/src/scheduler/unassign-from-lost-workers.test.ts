import { withoutReservation, withReservation } from '@lcm/domain/calendar/worker-ledger'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { aLabRecord } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { anotherWorker, aServingWorker, aSession, atMinutes, NEEDS } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const LONG = { start: atMinutes(0), end: atMinutes(600) }

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
  await rig.plane.set({ scale_up_enabled: false })
})

const holding = (since: string, more: Partial<Worker> = {}): Worker =>
  withReservation(aServingWorker(more), 's-1', NEEDS, since)
const placed = (more: Partial<LabletSession> = {}): LabletSession =>
  aSession({
    timeslot: LONG,
    status: 'SCHEDULED',
    worker_id: 'w-1',
    entered_status_at: atMinutes(-5),
    state_history: [{ from: 'PENDING', to: 'SCHEDULED', at: atMinutes(-5), because: textReason('') }],
    ...more,
  })
const names = () => rig.writes().map(({ route }) => route)

describe('a session whose worker is lost', () => {
  it('because it is TERMINATED releases its capacity and is placed again in one cycle', async () => {
    await rig.putWorker(holding(atMinutes(-5)), anotherWorker())
    await rig.put(placed())
    const scheduler = rig.begin()
    await rig.runFor(5 * SECOND_MS)
    await rig.plane.edit('workers', 'w-1', { status: 'TERMINATED' })
    await rig.runFor(0)
    expect(names()).toEqual(['reportSession', 'assignSession'])
    const waiting_reason = { code: 'worker_status', params: { worker: 'metal-1', status: 'TERMINATED' } }
    const changes = { status: 'PENDING', worker_id: null, waiting_reason }
    expect(rig.plane.requestsOf('reportSession')).toMatchObject([{ body: { changes } }])
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
    expect((await rig.worker()).reservations).toEqual({})
    expect(scheduler.stats()).toMatchObject({ returned_count: 1, assigned_count: 1 })
  })

  it.each<[string, Partial<Worker>, { code: string; params: object }]>([
    [
      'it is TERMINATING',
      { status: 'TERMINATING', desired_status: 'TERMINATED' },
      { code: 'worker_status', params: { worker: 'metal-1', status: 'TERMINATING' } },
    ],
    [
      'its desired status is TERMINATED',
      { desired_status: 'TERMINATED' },
      { code: 'worker_desired_status', params: { worker: 'metal-1', desired_status: 'TERMINATED' } },
    ],
    [
      'its desired status is STOPPED',
      { status: 'STOPPING', desired_status: 'STOPPED' },
      { code: 'worker_desired_status', params: { worker: 'metal-1', desired_status: 'STOPPED' } },
    ],
  ])('because %s is placed again before the worker has ended', async (_, more, waiting_reason) => {
    await rig.putWorker(holding(atMinutes(-5)), anotherWorker())
    await rig.put(placed())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    await rig.plane.edit('workers', 'w-1', more)
    await rig.runFor(0)
    expect(names()).toEqual(['reportSession', 'assignSession'])
    const changes = { status: 'PENDING', worker_id: null, waiting_reason }
    expect(rig.plane.requestsOf('reportSession')).toMatchObject([{ body: { changes } }])
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
    expect((await rig.worker()).reservations).toEqual({})
  })

  it('because its record is gone is placed again', async () => {
    await rig.putWorker(anotherWorker())
    await rig.put(placed())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
  })

  it('is placed again when the response to the first write was lost', async () => {
    await rig.putWorker(holding(atMinutes(-5), { status: 'TERMINATED' }), anotherWorker())
    await rig.put(placed())
    rig.plane.fail({ route: 'reportSession', effect: 'lost_response', times: 1 })
    rig.begin()
    await rig.runFor(MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
  })

  it('because it has been STOPPED for two minutes is placed elsewhere, and not before', async () => {
    await rig.putWorker(holding(atMinutes(-5), { status: 'STOPPED', entered_status_at: atMinutes(0) }), anotherWorker())
    await rig.put(placed())
    rig.begin()
    await rig.runFor(1.5 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    await rig.runFor(MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
    expect(names()).toEqual(['reportSession', 'assignSession'])
  })

  it('waits with that reason while there is no other worker, and returns when its worker does', async () => {
    const stopped = { status: 'STOPPED', entered_status_at: atMinutes(-15) } as const
    await rig.putWorker(holding(atMinutes(-20), { ...stopped, desired_status: 'STOPPED' }))
    await rig.put(placed())
    rig.begin()
    await rig.runFor(5 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'PENDING', worker_id: null })
    expect((await rig.session()).waiting_reason).toMatchObject({
      code: 'no_capacity',
      params: { cause: { code: 'worker_status', params: { status: 'STOPPED' } } },
    })
    await rig.plane.edit('workers', 'w-1', { status: 'RUNNING', desired_status: 'RUNNING' })
    await rig.runFor(SECOND_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
  })

  it('and that its owner canceled is left to the lablet-controller', async () => {
    await rig.putWorker(holding(atMinutes(-5), { status: 'TERMINATED' }))
    await rig.put(placed({ desired_status: 'TERMINATED' }))
    rig.begin()
    await rig.runFor(5 * MINUTE_MS)
    expect(names()).toEqual([])
  })
})

describe('capacity that the lab of an unassigned session may still use', () => {
  const leftIt = aSession({ timeslot: LONG, entered_status_at: atMinutes(-1) })

  it('is neither released nor assigned to that session again, until a scan has found no lab', async () => {
    await rig.plane.put('labs', aLabRecord({ session_id: 's-1' }))
    await rig.putWorker(holding(atMinutes(-30)))
    await rig.put(leftIt)
    rig.begin()
    await rig.runFor(10 * MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'PENDING', worker_id: null })
    expect((await rig.session()).waiting_reason).not.toBeNull()
    expect((await rig.worker()).reservations).toHaveProperty('s-1')
    await rig.plane.edit('labs', 'lr-1', { status: 'DELETED' })
    await rig.putWorker(withoutReservation(await rig.worker(), 's-1'))
    await rig.runFor(SECOND_MS)
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('stays reserved when the session is placed on another worker', async () => {
    await rig.plane.put('labs', aLabRecord({ session_id: 's-1' }))
    await rig.putWorker(holding(atMinutes(-30), { status: 'STOPPED' }), anotherWorker())
    await rig.put(leftIt)
    rig.begin()
    await rig.runFor(SECOND_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
    expect((await rig.worker()).reservations).toHaveProperty('s-1')
  })
})
