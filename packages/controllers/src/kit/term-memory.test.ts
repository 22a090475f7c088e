import { expect, it } from 'vitest'
import { termMemory } from './term-memory.ts'

const ended = new AbortController().signal

it('creates a memory for each term, and drops it however the term ends', async () => {
  let cleared = 0
  const memory = termMemory(
    () => new Set<string>(),
    () => {
      cleared += 1
    },
  )
  const learn = async () => {
    expect([memory.current().size, cleared]).toEqual([0, 0])
    memory.current().add('a fact')
  }
  await memory.during({ name: 'one', run: learn }).run(ended)
  expect([memory.current().size, cleared]).toEqual([0, 1])
  const failing = memory.during({
    name: 'two',
    run: () => {
      memory.current().add('another fact')
      return Promise.reject(new Error('lost'))
    },
  })
  await expect(failing.run(ended)).rejects.toThrow('lost')
  expect([failing.name, memory.current().size, cleared]).toEqual(['two', 0, 2])
})
