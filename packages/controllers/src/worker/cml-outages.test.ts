import { reason } from '@lcm/domain/reason'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { cmlOutages } from './cml-outages.ts'

const RUNNING = ['w-1', 'w-2', 'w-3', 'w-4']

/** The CML of these workers does not answer for two rounds of the metrics loop. */
async function unanswered(ids: readonly string[]) {
  const clock = manualClock()
  const began = new Date(clock.now()).toISOString()
  const cml = cmlOutages(clock)
  for (let round = 0; round < 2; round += 1) {
    for (const id of RUNNING) cml.heard(id, !ids.includes(id))
    await clock.advance(60_000)
  }
  return { cml, began }
}

it('is a problem when the CML of most running workers has not answered for 30 s', async () => {
  const { cml, began } = await unanswered(['w-1', 'w-2', 'w-3'])
  expect(cml.problems(RUNNING)).toEqual([reason('cml_outage', { silent: 3, running: 4, since: began })])
  cml.heard('w-1', true)
  expect(cml.problems(RUNNING)).toEqual([])
})

it('is no problem when half of them answer, or when the silent ones do not run any more', async () => {
  expect((await unanswered(['w-1', 'w-2'])).cml.problems(RUNNING)).toEqual([])
  expect((await unanswered(['w-1', 'w-2', 'w-3'])).cml.problems(['w-4'])).toEqual([])
})

it('is no problem where nothing runs, nor in the next term', async () => {
  const { cml } = await unanswered(RUNNING)
  expect(cml.problems([])).toEqual([])
  expect(cmlOutages(manualClock()).problems(RUNNING)).toEqual([])
})
