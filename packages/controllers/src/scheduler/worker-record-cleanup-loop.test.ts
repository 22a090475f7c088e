import { beforeEach, describe, expect, it } from 'vitest'
import { type SchedulerRig, schedulerRig } from './testing/scheduler-rig.ts'
import { aServingWorker, atMinutes } from './testing/scheduling-fixtures.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60

let rig: SchedulerRig

beforeEach(async () => {
  rig = await schedulerRig()
  const old = { status: 'TERMINATED', entered_status_at: atMinutes(-60 * DAY_MINUTES) } as const
  await rig.putWorker(aServingWorker({ id: 'w-8', ...old }), aServingWorker({ id: 'w-9', ...old }))
})

const cleanups = () => rig.logger.lines.filter(({ message }) => message === 'cleaned up old workers')

describe('the cleanup', () => {
  it('runs every hour and logs the workers that it removed', async () => {
    const scheduler = rig.begin()
    await rig.runFor(125 * MINUTE_MS)
    expect(rig.plane.requestsOf('cleanUpWorkers')).toHaveLength(3)
    expect(rig.plane.requestsOf('cleanUpWorkers')[0]).toMatchObject({ body: { dry_run: false }, epoch: 1 })
    expect(cleanups()[0]).toMatchObject({ fields: { removed: 2, workers: ['w-8', 'w-9'], dry_run: false } })
    expect(cleanups().slice(1)).toMatchObject([{ fields: { removed: 0 } }, { fields: { removed: 0 } }])
    expect(scheduler.stats()).toMatchObject({ workers_removed_count: 2 })
    expect(await rig.plane.all('workers')).toEqual([])
  })

  it('removes nothing in a dry run', async () => {
    const scheduler = rig.begin('one', { cleanupDryRun: true })
    await rig.runFor(2 * MINUTE_MS)
    expect(cleanups()).toMatchObject([{ fields: { removed: 2, dry_run: true } }])
    expect(scheduler.stats()).toMatchObject({ workers_removed_count: 0 })
    expect(await rig.plane.all('workers')).toHaveLength(2)
  })

  it('logs a failure and runs again an hour later', async () => {
    rig.plane.fail({ route: 'cleanUpWorkers', effect: 'store_unavailable', times: 1 })
    rig.begin()
    await rig.runFor(65 * MINUTE_MS)
    expect(rig.logger.messages('warn')).toContain('could not clean up old workers')
    expect(cleanups()).toHaveLength(1)
  })

  it('resigns when the API knows a newer leader', async () => {
    rig.begin()
    await rig.runFor(30_000)
    await rig.plane.registerTerm('resource-scheduler', 2)
    await rig.runFor(65 * MINUTE_MS)
    expect(rig.plane.requestsOf('cleanUpWorkers').map(({ epoch }) => epoch)).toEqual([1, 2, 2])
  })
})
