import { UnreachableError } from '@lcm/client/client'
import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import type { Worker } from '@lcm/domain/worker/worker'
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

const withReservationFor = (id: string, worker: Worker): Worker => withReservation(worker, id, NEEDS, atMinutes(0))

describe('an assignment that is half done', () => {
  it('is finished on the worker with the reservation, although another one would be preferred', async () => {
    await rig.putWorker(
      withReservationFor('s-7', withReservationFor('s-8', anotherWorker())),
      withReservationFor('s-1', aServingWorker()),
    )
    await rig.put(aSession())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    expect((await rig.worker('w-2')).reservations).not.toHaveProperty('s-1')
  })

  it('is finished after the API died in the middle of it', async () => {
    await rig.putWorker(aServingWorker(), anotherWorker())
    await rig.put(aSession())
    let isFirst = true
    rig.plane.beforeRequest(async ({ route }) => {
      if (route !== 'assignSession' || !isFirst) return
      isFirst = false
      await rig.putWorker(withReservationFor('s-1', await rig.worker()))
      throw new UnreachableError('it died between its two writes')
    })
    rig.begin()
    await rig.runFor(MINUTE_MS)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    expect((await rig.worker('w-2')).reservations).toEqual({})
  })

  it('is dropped when the worker accepts no sessions any more, and the session is placed elsewhere', async () => {
    await rig.putWorker(withReservationFor('s-1', aServingWorker({ cordoned: true })), anotherWorker())
    await rig.put(aSession())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect((await rig.worker()).reservations).toEqual({})
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
  })

  it('is dropped when the timeslot of the session is over', async () => {
    await rig.putWorker(withReservationFor('s-1', aServingWorker()))
    await rig.put(aSession({ timeslot: { start: atMinutes(-60), end: atMinutes(0) } }))
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect((await rig.worker()).reservations).toEqual({})
    expect((await rig.session()).status).toBe('EXPIRED')
  })
})

it('a plan that could not be stored is stored by the repeated cycle, although nothing changed', async () => {
  await rig.putWorker(aServingWorker())
  await rig.put(aSession({ timeslot: { start: atMinutes(60), end: atMinutes(120) } }))
  rig.plane.fail({ route: 'putPlan', effect: 'internal_error', times: 1 })
  rig.begin()
  await rig.runFor(10 * SECOND_MS)
  expect(rig.plane.requestsOf('putPlan')).toHaveLength(2)
  expect((await rig.plane.get('plans', 'fleet')).machines).toMatchObject([{ key: 'w-1', session_ids: ['s-1'] }])
})

describe('an assignment that the API refuses unexpectedly', () => {
  it('is tried again long before the next poll', async () => {
    await rig.putWorker(aServingWorker())
    await rig.put(aSession())
    rig.plane.fail({ route: 'assignSession', effect: 'internal_error', times: 1 })
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect(rig.plane.requestsOf('assignSession')).toHaveLength(2)
    expect(await rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
  })

  it('is in the plan until it succeeds', async () => {
    await rig.putWorker(aServingWorker())
    await rig.put(aSession())
    rig.plane.fail({ route: 'assignSession', effect: 'internal_error' })
    const scheduler = rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(scheduler.plan()).toMatchObject([{ resource: 'session:s-1', because: { code: 'assignment_failed' } }])
    rig.plane.heal()
    await rig.runFor(5 * MINUTE_MS)
    expect(scheduler.plan()).toEqual([])
  })

  it('buys nothing and gives no reason to the others, since what was observed is in doubt', async () => {
    await rig.plane.set({ scale_up_enabled: true })
    await rig.putWorker(aServingWorker())
    await rig.put(...Array.from({ length: 6 }, (_, n) => aSession({ id: `s-${n}` })))
    rig.plane.fail({ route: 'assignSession', effect: 'internal_error' })
    rig.begin()
    await rig.runFor(MINUTE_MS)
    expect(rig.writes().filter(({ route }) => route !== 'assignSession')).toEqual([])
    rig.plane.heal()
    await rig.runFor(5 * MINUTE_MS)
    expect(rig.plane.requestsOf('scaleUp')).toHaveLength(1)
  })
})
