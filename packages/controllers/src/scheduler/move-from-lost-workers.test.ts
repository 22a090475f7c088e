import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import { aLabRecord } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { anotherWorker, aServingWorker, aSession, atMinutes, NEEDS } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
  await rig.plane.set({ scale_up_enabled: false })
})

const holding = (more: Partial<Worker> = {}, ...ids: readonly string[]): Worker =>
  ids.reduce(
    (worker, id) => withReservation(worker, id, NEEDS, atMinutes(-30)),
    aServingWorker({ entered_status_at: atMinutes(0), ...more }),
  )
const stopped: Partial<Worker> = { status: 'STOPPED', service_status: 'UNAVAILABLE' }
const silent: Partial<Worker> = {
  service_status: 'UNAVAILABLE',
  conditions: [{ type: 'CmlReady', status: false, reason: textReason(''), since: atMinutes(-60) }],
}

/** In use on w-1, with a lab there. */
const running = (more: Partial<LabletSession> = {}): LabletSession =>
  aSession({
    timeslot: { start: atMinutes(-20), end: atMinutes(600) },
    status: 'RUNNING',
    worker_id: 'w-1',
    lab_record_id: 'lr-1',
    access: [{ name: 'r1', node: 'r1', protocol: 'serial', inside: null, host: 'h', port: 2000 }],
    last_error: 'lab_start: no answer',
    conditions: [{ type: 'WorkerUnavailable', status: true, reason: textReason(''), since: atMinutes(-1) }],
    entered_status_at: atMinutes(-20),
    state_history: [{ from: 'READY', to: 'RUNNING', at: atMinutes(-20), because: textReason('') }],
    ...more,
  })
const names = () => rig.writes().map(({ route }) => route)
const placeOf = async (id = 's-1') => {
  const { status, worker_id } = await rig.session(id)
  return [status, worker_id]
}

describe('a session in use whose worker is TERMINATED', () => {
  it('moves at once, without anything of its old placement', async () => {
    await rig.plane.put('labs', aLabRecord({ session_id: 's-1' }))
    await rig.putWorker(holding({}, 's-1'), anotherWorker())
    await rig.put(running({ restore_from: 'sv-1' }))
    const scheduler = rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(names()).toEqual([])
    await rig.plane.edit('workers', 'w-1', { status: 'TERMINATED' })
    await rig.runFor(SECOND_MS)
    expect(names()).toEqual(['reportSession', 'assignSession'])
    expect(await rig.session()).toMatchObject({
      ...{ status: 'SCHEDULED', worker_id: 'w-2', lab_record_id: null, access: [], pipeline: null },
      ...{ conditions: [], last_error: null, waiting_reason: null, restore_from: 'sv-1' },
      health: { status: 'DOWN', reason: { code: 'session_starts_elsewhere' } },
    })
    expect((await rig.session()).state_history.at(-2)).toMatchObject({
      ...{ from: 'RUNNING', to: 'PENDING' },
      because: { code: 'session_moved', params: { cause: { code: 'worker_status' } } },
    })
    expect((await rig.worker()).reservations).toEqual({})
    expect(scheduler.stats()).toMatchObject({ moved_count: 1, returned_count: 0, assigned_count: 1 })
  })

  it('waits first in line while no worker has capacity', async () => {
    await rig.putWorker(holding({ status: 'TERMINATED' }, 's-1'), anotherWorker({ cordoned: true }))
    await rig.put(running(), aSession({ id: 's-2', timeslot: { start: atMinutes(-30), end: atMinutes(60) } }))
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(await rig.session()).toMatchObject({
      status: 'PENDING',
      waiting_reason: { code: 'moved_session_waits', params: { cause: { code: 'no_capacity' } } },
      health: { status: 'DOWN', reason: { code: 'moved_session_waits' } },
    })
    await rig.putWorker(
      anotherWorker({ capacity: { ...anotherWorker().capacity, declared: { ...NEEDS, max_nodes: 5 } } }),
    )
    await rig.runFor(SECOND_MS)
    expect([await placeOf(), await placeOf('s-2')]).toEqual([
      ['SCHEDULED', 'w-2'],
      ['PENDING', null],
    ])
  })

  it('requests a worker, within the usual limits', async () => {
    await rig.plane.set({ scale_up_enabled: true })
    await rig.putWorker(holding({ status: 'TERMINATED' }, 's-1'))
    await rig.put(running())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(rig.plane.requestsOf('scaleUp')).toMatchObject([{ body: { session_ids: ['s-1'], count: 1 } }])
  })

  it('expires when its timeslot ends while it waits', async () => {
    await rig.putWorker(holding({ status: 'TERMINATED' }, 's-1'))
    await rig.put(running({ timeslot: { start: atMinutes(-20), end: atMinutes(10) } }))
    rig.begin()
    await rig.runFor(9 * MINUTE_MS)
    expect(await placeOf()).toEqual(['PENDING', null])
    await rig.runFor(2 * MINUTE_MS)
    expect(await placeOf()).toEqual(['EXPIRED', null])
  })

  it.each(['lost_response', 'unreachable'] as const)('moves once when a write has the fault %s', async effect => {
    for (const route of ['reportSession', 'assignSession'] as const) {
      rig = await schedulerRig()
      await rig.plane.set({ scale_up_enabled: false })
      await rig.putWorker(holding({ status: 'TERMINATED' }, 's-1'), anotherWorker())
      await rig.put(running())
      rig.plane.fail({ route, effect, times: 1 })
      rig.begin()
      await rig.runFor(2 * MINUTE_MS)
      expect(await placeOf()).toEqual(['SCHEDULED', 'w-2'])
      const moves = (await rig.session()).state_history.filter(({ to }) => to === 'PENDING')
      expect(moves).toHaveLength(1)
      expect(Object.keys((await rig.worker('w-2')).reservations)).toEqual(['s-1'])
    }
  })

  it('is moved on by the next leader after a crash between the two writes', async () => {
    await rig.putWorker(holding({ status: 'TERMINATED' }, 's-1'), anotherWorker())
    await rig.put(running())
    rig.plane.fail({ route: 'assignSession', effect: 'unreachable' })
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(await placeOf()).toEqual(['PENDING', null])
    rig.coordination.faults.crash('one')
    rig.plane.heal()
    rig.begin('two')
    await rig.runFor(2 * MINUTE_MS)
    expect(await placeOf()).toEqual(['SCHEDULED', 'w-2'])
  })
})

describe('a session in use whose worker has been STOPPED for ten minutes', () => {
  it('moves to a worker with capacity, and not before', async () => {
    await rig.putWorker(holding(stopped, 's-1'), anotherWorker())
    await rig.put(running())
    rig.begin()
    await rig.runFor(9 * MINUTE_MS)
    expect(names()).toEqual([])
    await rig.runFor(2 * MINUTE_MS)
    expect(await placeOf()).toEqual(['SCHEDULED', 'w-2'])
    expect(names()).toEqual(['reportSession', 'assignSession'])
  })

  it('stays while no worker has capacity, and buys none', async () => {
    await rig.plane.set({ scale_up_enabled: true })
    await rig.putWorker(holding(stopped, 's-1'))
    await rig.put(running())
    rig.begin()
    await rig.runFor(60 * MINUTE_MS)
    expect(names()).toEqual([])
    await rig.putWorker(anotherWorker())
    await rig.runFor(MINUTE_MS)
    expect(await placeOf()).toEqual(['SCHEDULED', 'w-2'])
  })

  it('moves only as far as the capacity goes: the rest of a class stays where it may come back', async () => {
    const ids = ['s-1', 's-2', 's-3']
    await rig.putWorker(holding(stopped, ...ids), anotherWorker({ reservations: {} }))
    const small = { cpu_cores: 8, memory_gb: 16, storage_gb: 20, max_nodes: 10 }
    await rig.putWorker(anotherWorker({ capacity: { ...anotherWorker().capacity, declared: small } }))
    await rig.put(...ids.map(id => running({ id })))
    rig.begin()
    await rig.runFor(12 * MINUTE_MS)
    expect(await Promise.all(ids.map(placeOf))).toEqual([
      ['SCHEDULED', 'w-2'],
      ['SCHEDULED', 'w-2'],
      ['RUNNING', 'w-1'],
    ])
  })

  it('keeps its old capacity reserved until its lab is seen gone', async () => {
    await rig.plane.put('labs', aLabRecord({ session_id: 's-1', status: 'BOOTED' }))
    await rig.putWorker(holding(stopped, 's-1'), anotherWorker())
    await rig.put(running())
    rig.begin()
    await rig.runFor(12 * MINUTE_MS)
    expect(await placeOf()).toEqual(['SCHEDULED', 'w-2'])
    expect(Object.keys((await rig.worker()).reservations)).toEqual(['s-1'])
    expect(await rig.plane.get('labs', 'lr-1')).toMatchObject({ pending_action: { action: 'delete' } })
  })
})

describe('a session whose machine runs with a silent CML', () => {
  it.each(['RUNNING', 'DRAINING', 'TERMINATING', 'UNKNOWN'] as const)('stays in use on a %s worker', async status => {
    await rig.putWorker(holding({ ...silent, status, entered_status_at: atMinutes(-60) }, 's-1'), anotherWorker())
    await rig.put(running())
    rig.begin()
    await rig.runFor(60 * MINUTE_MS)
    expect(names()).toEqual([])
  })

  it('moves before its timeslot', async () => {
    await rig.putWorker(holding(silent, 's-1'), anotherWorker())
    const timeslot = { start: atMinutes(15), end: atMinutes(75) }
    const state_history = [
      { from: 'INSTANTIATING' as const, to: 'READY' as const, at: atMinutes(-9), because: textReason('') },
    ]
    await rig.put(running({ status: 'READY', timeslot, state_history }))
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(await placeOf()).toEqual(['SCHEDULED', 'w-2'])
  })
})
