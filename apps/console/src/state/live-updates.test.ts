import { effect } from '@preact/signals'
import { expect, it } from 'vitest'
import { news } from './live-updates.ts'

it('reaches those who asked about the subject, and nobody else', () => {
  const heard = news()
  const seen: number[] = []
  effect(() => {
    seen.push(heard.count('worker:w-1'))
  })
  heard.tell('worker:w-2')
  heard.tell('worker:w-1')
  expect(seen).toEqual([0, 1])
})
