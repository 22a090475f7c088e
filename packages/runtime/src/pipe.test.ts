import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { type Pipe, pipe } from './pipe.ts'

async function readAll<T>(from: Pipe<T>): Promise<{ items: T[]; error: unknown }> {
  const items: T[] = []
  try {
    for await (const item of from) items.push(item)
    return { items, error: undefined }
  } catch (error) {
    return { items, error }
  }
}

it('returns items pushed before and during the reading, in order', async () => {
  const numbers = pipe<number>({ signal: new AbortController().signal })
  numbers.push(1)
  const reading = readAll(numbers)
  await Promise.resolve()
  numbers.push(2)
  numbers.push(3)
  numbers.end()
  expect(await reading).toEqual({ items: [1, 2, 3], error: undefined })
})

it('throws the error it ended with, after the items pushed before', async () => {
  const numbers = pipe<number>({ signal: new AbortController().signal })
  const broken = new Error('connection reset')
  numbers.push(1)
  numbers.end(broken)
  numbers.push(2)
  numbers.end(new Error('too late'))
  expect(await readAll(numbers)).toEqual({ items: [1], error: broken })
})

it('ends at once when its signal aborts, even with items inside', async () => {
  const stop = new AbortController()
  const numbers = pipe<number>({ signal: stop.signal })
  const seen: number[] = []
  numbers.push(1)
  numbers.push(2)
  for await (const item of numbers) {
    seen.push(item)
    stop.abort()
  }
  expect(seen).toEqual([1])
})

it('ends a reader that aborts while it handles the last item', async () => {
  const stop = new AbortController()
  const numbers = pipe<number>({ signal: stop.signal })
  numbers.push(1)
  for await (const _ of numbers) stop.abort()
})

it('ends a waiting reader when its signal aborts', async () => {
  const stop = new AbortController()
  const reading = readAll(pipe<number>({ signal: stop.signal }))
  await Promise.resolve()
  stop.abort()
  expect(await reading).toEqual({ items: [], error: undefined })
})

it('fails a reader that is too far behind', async () => {
  const numbers = pipe<number>({ signal: new AbortController().signal, itemsMax: 3 })
  for (let item = 0; item < 10; item += 1) numbers.push(item)
  const { items, error } = await readAll(numbers)
  expect([items, String(error)]).toEqual([[0, 1, 2, 3], 'Error: the reader is too far behind'])
})

it('closes once and leaves no listener on the signal when the reader stops early', async () => {
  const { signal } = new AbortController()
  let closed = 0
  const numbers = pipe<number>({
    signal,
    onClose: () => {
      closed += 1
    },
  })
  numbers.push(1)
  for await (const _ of numbers) break
  expect([closed, getEventListeners(signal, 'abort')]).toEqual([1, []])
})
