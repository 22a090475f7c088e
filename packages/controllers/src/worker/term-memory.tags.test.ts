import { aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { tagBackoff } from './term-memory.ts'

const MINUTE_MS = 60_000
const ada = aWorker({ name: 'ada' })

it('pauses longer with every repetition, up to half an hour', () => {
  const pauses = tagBackoff()
  expect(pauses.leftMs(ada, 0)).toBe(0)
  const waited: number[] = []
  let nowMs = 0
  for (let n = 0; n < 8; n += 1) {
    pauses.sent(ada, nowMs)
    const leftMs = pauses.leftMs(ada, nowMs)
    waited.push(leftMs / MINUTE_MS)
    nowMs += leftMs
    expect(pauses.leftMs(ada, nowMs)).toBe(0)
  }
  expect(waited).toEqual([1, 2, 4, 8, 16, 30, 30, 30])
})

it('does not delay a new name for an old one, nor one worker for another', () => {
  const pauses = tagBackoff()
  pauses.sent(ada, 0)
  expect(pauses.leftMs({ ...ada, name: 'eve' }, 0)).toBe(0)
  expect(pauses.leftMs({ ...ada, id: 'w-2' }, 0)).toBe(0)
})

it('starts over after a long time, for a new leader, and when the worker is gone', () => {
  let pauses = tagBackoff()
  const sentTwice = (nowMs: number) => {
    pauses.sent(ada, nowMs)
    pauses.sent(ada, nowMs)
  }
  sentTwice(0)
  expect(pauses.leftMs(ada, 0)).toBe(2 * MINUTE_MS)
  pauses.sent(ada, 60 * MINUTE_MS)
  expect(pauses.leftMs(ada, 60 * MINUTE_MS)).toBe(MINUTE_MS)
  const newTerm = () => {
    pauses = tagBackoff()
  }
  for (const startOver of [newTerm, () => pauses.forget(ada.id)]) {
    sentTwice(0)
    startOver()
    expect(pauses.leftMs(ada, 0)).toBe(0)
  }
})
