import { effect } from '@preact/signals'
import { expect, it } from 'vitest'
import { liveUpdates } from './live-updates.ts'

it('notifies subscribers of the topic only', () => {
  const heard = liveUpdates()
  const seen: number[] = []
  effect(() => {
    seen.push(heard.count('worker:w-1'))
  })
  heard.publish('worker:w-2')
  heard.publish('worker:w-1')
  expect(seen).toEqual([0, 1])
})
