import { runningLoop } from '@lcm/testkit/running-loop'
import { expect, it } from 'vitest'
import { startupSweep } from '../triggers/poll.ts'
import { success } from './result.ts'

it('says aloud, but does not throw, when a trigger invents more keys than there is room for', async () => {
  const { hands, clock, starts, logger } = runningLoop({ keysMax: 3 })
  for (let index = 0; index < 1_500; index += 1) hands.add(`w-${index}`, 'test')
  await clock.advance(0)
  expect(starts.map(start => start.key)).toEqual(['w-0', 'w-1', 'w-2'])
  const said = logger.lines.filter(line => line.level === 'error')
  expect(said.map(line => line.fields.key)).toEqual(['w-3', 'w-1003'])
  expect(String(said[0]?.fields.err)).toContain('no room for w-3: 3 distinct keys are queued')
})

it('says so for a listing that finds no room too', async () => {
  const { hands, logger } = runningLoop({ keysMax: 1 })
  const listing = hands.openListing('poll')
  for (const key of ['w-1', 'w-2']) listing.offer(key, undefined)
  expect(logger.lines).toMatchObject([{ level: 'error', fields: { key: 'w-2' } }])
})

it('holds a listing up while thousands of keys wait, so that copies do not pile up', async () => {
  let pagesRead = 0
  const { clock, loop, starts } = runningLoop<string>({
    reconcile: async () => {
      await clock.sleep(1_000)
      return success()
    },
    concurrency: 1_000,
    triggers: [
      startupSweep({
        keyOf: key => key,
        async *list() {
          for (; pagesRead < 20; pagesRead += 1) {
            yield Array.from({ length: 1_000 }, (_, index) => `w-${pagesRead}-${index}`)
          }
        },
      }),
    ],
  })
  await clock.advance(2_000)
  expect(pagesRead).toBeLessThan(8)
  expect(loop.health().queue_depth).toBeLessThanOrEqual(7_000)
  await clock.advance(60_000)
  expect(starts).toHaveLength(20_000)
})
