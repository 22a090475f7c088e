import { effect } from '@preact/signals'
import { expect, it } from 'vitest'
import { aDecision } from '../testing/decision-builder.ts'
import { liveUpdates, recentDecisions } from './live-state.ts'

it('notifies subscribers of the topic only', () => {
  const updates = liveUpdates()
  const seen: number[] = []
  effect(() => {
    seen.push(updates.count('worker:w-1'))
  })
  updates.publish('worker:w-2')
  updates.publish('worker:w-1')
  expect(seen).toEqual([0, 1])
})

it('keeps the latest decisions, each once', () => {
  const decisions = recentDecisions()
  for (let n = 1; n <= 250; n += 1) decisions.add(aDecision({ id: `d-${n}` }))
  decisions.add(aDecision({ id: 'd-250' }))
  const ids = decisions.all().map(({ id }) => id)
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([200, 'd-250', 'd-51'])
})
