import { beforeEach, describe, expect, it } from 'vitest'
import { aServingWorker, aSession } from './testing/a-booking.ts'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'

const SECOND_MS = 1_000

let rig: SchedulerRig

beforeEach(() => {
  rig = schedulerRig()
  rig.api.settings.set('scale_up_enabled', false)
  rig.putWorker(aServingWorker())
  rig.put(aSession())
})

/** An operator cordons the worker right before the assignment. */
const losing = () =>
  rig.api.faults.beforeAnswer(({ name }) => {
    if (name === 'assignSession' && !rig.worker().cordoned) rig.putWorker({ ...rig.worker(), cordoned: true })
  })

describe('a race for room', () => {
  it('that is lost is a session that waits for the next cycle, and no failure', async () => {
    rig.coordination.faults.setDelivery(() => ({ delayMs: 20 }))
    losing()
    const scheduler = rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect(scheduler.stats()).toMatchObject({ lost_races_count: 1, assigned_count: 0 })
    expect(rig.session()).toMatchObject({ status: 'PENDING' })
    expect(rig.session().waiting_reason).toContain('it is cordoned')
    expect(scheduler.loop.health().retries).toBe(0)
    rig.api.faults.beforeAnswer(() => undefined)
    rig.putWorker({ ...rig.worker(), cordoned: false })
    await rig.runFor(SECOND_MS)
    expect(rig.session().status).toBe('SCHEDULED')
  })

  it('against whoever cancels the session leaves nothing behind', async () => {
    rig.api.faults.beforeAnswer(({ name }) => {
      if (name === 'assignSession') rig.put({ ...rig.session(), status: 'TERMINATED', desired_status: 'TERMINATED' })
    })
    const scheduler = rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect(rig.worker().reservations).toEqual({})
    expect([scheduler.plan(), scheduler.loop.health().retries]).toEqual([[], 0])
  })

  it('to write a reason is left to the next cycle', async () => {
    rig.putWorker({ ...rig.worker(), cordoned: true })
    let isFirst = true
    rig.api.faults.beforeAnswer(({ name }) => {
      if (name !== 'reportSession' || !isFirst) return
      isFirst = false
      rig.put({ ...rig.session(), desired_reason: 'changed' })
    })
    rig.begin()
    await rig.runFor(2 * SECOND_MS)
    expect(rig.session()).toMatchObject({ desired_reason: 'changed' })
    expect(rig.session().waiting_reason).toContain('it is cordoned')
  })
})
