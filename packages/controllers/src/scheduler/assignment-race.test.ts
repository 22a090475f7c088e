import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { aServingWorker, aSession } from './testing/scheduling-fixtures.ts'

const SECOND_MS = 1_000

/** The only worker is cordoned. */
const CORDONED = { code: 'no_capacity', params: { cause: { code: 'worker_cordoned' } } }

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
  await rig.plane.set({ scale_up_enabled: false })
  await rig.putWorker(aServingWorker())
  await rig.put(aSession())
})

/** An operator cordons the worker right before the assignment. */
const losing = () =>
  rig.plane.beforeRequest(async ({ route }) => {
    if (route === 'assignSession') await rig.plane.edit('workers', 'w-1', { cordoned: true })
  })

describe('a lost race', () => {
  it('for capacity lets the session wait for the next cycle, and is no failure', async () => {
    rig.coordination.faults.setDelivery(() => ({ delayMs: 20 }))
    losing()
    const scheduler = rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect(scheduler.stats()).toMatchObject({ lost_races_count: 1, assigned_count: 0 })
    expect(await rig.session()).toMatchObject({ status: 'PENDING' })
    expect((await rig.session()).waiting_reason).toMatchObject(CORDONED)
    expect(scheduler.loop.health().retries).toBe(0)
    rig.plane.beforeRequest(() => undefined)
    await rig.plane.edit('workers', 'w-1', { cordoned: false })
    await rig.runFor(SECOND_MS)
    expect((await rig.session()).status).toBe('SCHEDULED')
  })

  it('against a cancellation leaves no reservation behind', async () => {
    rig.plane.beforeRequest(async ({ route }) => {
      if (route === 'assignSession')
        await rig.plane.edit('sessions', 's-1', { status: 'TERMINATED', desired_status: 'TERMINATED' })
    })
    const scheduler = rig.begin()
    await rig.runFor(10 * SECOND_MS)
    expect((await rig.worker()).reservations).toEqual({})
    expect([scheduler.plan(), scheduler.loop.health().retries]).toEqual([[], 0])
  })

  it('for a waiting reason is left to the next cycle', async () => {
    await rig.plane.edit('workers', 'w-1', { cordoned: true })
    let isFirst = true
    rig.plane.beforeRequest(async ({ route }) => {
      if (route !== 'reportSession' || !isFirst) return
      isFirst = false
      await rig.plane.edit('sessions', 's-1', { desired_reason: 'changed' })
    })
    rig.begin()
    await rig.runFor(2 * SECOND_MS)
    expect(await rig.session()).toMatchObject({ desired_reason: 'changed' })
    expect((await rig.session()).waiting_reason).toMatchObject(CORDONED)
  })
})
