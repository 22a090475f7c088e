import { expect, it } from 'vitest'
import { forgetfulOf } from './controller.ts'

const ended = new AbortController().signal

it('forgets with the end of a term, however it ends', async () => {
  let cleared = 0
  const memory = {
    clear() {
      cleared += 1
    },
  }
  await forgetfulOf({ name: 'one', run: async () => expect(cleared).toBe(0) }, memory).run(ended)
  expect(cleared).toBe(1)
  const failing = forgetfulOf({ name: 'two', run: () => Promise.reject(new Error('lost')) }, memory)
  await expect(failing.run(ended)).rejects.toThrow('lost')
  expect([failing.name, cleared]).toEqual(['two', 2])
})
