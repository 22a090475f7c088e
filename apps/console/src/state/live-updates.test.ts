import { effect } from '@preact/signals'
import { expect, it } from 'vitest'
import { liveUpdates } from './live-updates.ts'

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
