import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'

const MINUTE_MS = 60_000

let rig: SchedulerRig

beforeEach(() => {
  rig = schedulerRig()
  rig.api.old.push('w-8', 'w-9')
})

const told = () => rig.logger.lines.filter(({ message }) => message === 'cleaned up old workers')

describe('the cleanup', () => {
  it('is asked for every hour, and what it removed is logged', async () => {
    const scheduler = rig.begin()
    await rig.runFor(125 * MINUTE_MS)
    expect(rig.api.callsOf('cleanUpWorkers')).toHaveLength(3)
    expect(rig.api.callsOf('cleanUpWorkers')[0]).toMatchObject({ body: { dry_run: false }, epoch: 1 })
    expect(told()[0]).toMatchObject({ fields: { removed: 2, workers: ['w-8', 'w-9'], dry_run: false } })
    expect(scheduler.stats()).toMatchObject({ workers_removed_count: 6 })
  })

  it('removes nothing when it is to be said only', async () => {
    const scheduler = rig.begin('one', { cleanupDryRun: true })
    await rig.runFor(2 * MINUTE_MS)
    expect(told()).toMatchObject([{ fields: { removed: 2, dry_run: true } }])
    expect(scheduler.stats()).toMatchObject({ workers_removed_count: 0 })
  })

  it('that fails is said, and asked for again an hour later', async () => {
    rig.api.faults.refuse('cleanUpWorkers', 503, 'store_unavailable')
    rig.begin()
    await rig.runFor(65 * MINUTE_MS)
    expect(rig.logger.messages('warn')).toContain('could not clean up old workers')
    expect(told()).toHaveLength(1)
  })

  it('gives the seat up when the API knows a newer leader', async () => {
    rig.begin()
    await rig.runFor(30_000)
    rig.api.faults.setEpoch(2)
    await rig.runFor(65 * MINUTE_MS)
    expect(rig.api.callsOf('cleanUpWorkers').map(({ epoch }) => epoch)).toEqual([1, 2, 2])
  })
})
