import { runningLoop } from '@lcm/testkit/running-loop'
import { expect, it } from 'vitest'
import { retry, success } from './result.ts'

it('shows a loop at work', async () => {
  const { clock, hands, loop, meter } = runningLoop({
    concurrency: 1,
    reconcile: async key => {
      if (key === 'slow') await clock.sleep(60_000)
      return key === 'failing' ? retry('no') : success()
    },
  })
  for (const key of ['fine', 'failing', 'slow', 'waiting']) hands.add(key, 'test')
  await clock.advance(700)
  expect(loop.health()).toEqual({
    name: 'loop',
    status: 'healthy',
    running: true,
    epoch: 1,
    last_reconciliation: new Date(clock.now() - 700).toISOString(),
    last_sweep: null,
    resources_managed: 3,
    resources_pending: 2,
    active_reconciles: 1,
    queue_depth: 1,
    queue_oldest_age_ms: 700,
    retries: 1,
    watches: [],
  })
  const gauge = (name: string) => meter.value(`reconciliation_${name}`)
  expect(
    ['active_reconciles', 'resources_pending', 'queue_depth', 'queue_oldest_age_seconds', 'leader', 'leader_term'].map(
      gauge,
    ),
  ).toEqual([1, 2, 1, 0.7, 1, 1])
})

it('shows a loop at rest, standing by', async () => {
  const { clock, hands, loop, stop, meter } = runningLoop()
  hands.add('w-1', 'test')
  await clock.advance(0)
  await stop()
  expect(loop.health()).toMatchObject({ running: false, epoch: null, resources_managed: 0, resources_pending: 0 })
  expect([meter.value('reconciliation_leader'), meter.value('reconciliation_leader_term')]).toEqual([0, 0])
})
