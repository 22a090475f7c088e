import { UnreachableError } from '@lcm/client/api-error'
import type { Worker } from '@lcm/domain/worker/worker'
import { beforeEach, describe, expect, it } from 'vitest'
import { aReservation, aServingWorker, aSession, atMinutes } from './testing/a-booking.ts'
import { ledgerOf } from './testing/fake-commands.ts'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

let rig: SchedulerRig

beforeEach(() => {
  rig = schedulerRig()
  rig.api.settings.set('scale_up_enabled', false)
})

const withRoomFor = (id: string, worker: Worker): Worker => ({
  ...worker,
  ...ledgerOf(worker, { ...worker.reservations, [id]: aReservation(atMinutes(0)) }),
})
const another = (more: Partial<Worker> = {}) => aServingWorker({ id: 'w-2', name: 'metal-2', ...more })

describe('an assignment that is half done', () => {
  it('is finished on the worker that has the room, though another would be taken first', async () => {
    rig.putWorker(withRoomFor('s-7', withRoomFor('s-8', another())), withRoomFor('s-1', aServingWorker()))
    rig.put(aSession())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    expect(rig.worker('w-2').reservations).not.toHaveProperty('s-1')
  })

  it('is finished after the API died in the middle of it', async () => {
    rig.putWorker(aServingWorker(), another())
    rig.put(aSession())
    let isFirst = true
    rig.api.faults.beforeAnswer(({ name }) => {
      if (name !== 'assignSession' || !isFirst) return
      isFirst = false
      rig.putWorker(withRoomFor('s-1', rig.worker()))
      throw new UnreachableError('it died between its two writes')
    })
    rig.begin()
    await rig.runFor(MINUTE_MS)
    expect(rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-1' })
    expect(rig.worker('w-2').reservations).toEqual({})
  })

  it('is given up where the worker takes nobody any more, and the session placed elsewhere', async () => {
    rig.putWorker(withRoomFor('s-1', aServingWorker({ cordoned: true })), another())
    rig.put(aSession())
    rig.begin()
    await rig.runFor(5 * SECOND_MS)
    expect(rig.worker().reservations).toEqual({})
    expect(rig.session()).toMatchObject({ status: 'SCHEDULED', worker_id: 'w-2' })
  })

  it('is given up when the time of the session is over', async () => {
    rig.putWorker(withRoomFor('s-1', aServingWorker()))
    rig.put(aSession({ timeslot: { start: atMinutes(-60), end: atMinutes(0) } }))
    rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect(rig.worker().reservations).toEqual({})
    expect(rig.session().status).toBe('EXPIRED')
  })
})
