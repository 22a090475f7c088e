import { Worker } from '@lcm/domain/worker/worker'
import { aWorker } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import { readStored } from './stored.ts'

const read = readStored(Worker)

describe('a stored document', () => {
  it('is taken as it is when it has every field', () => {
    const body = aWorker()
    expect(read(body)).toBe(body)
  })

  it('gets the fields that were added since it was written, at any depth', () => {
    const { drain, ...older } = aWorker()
    expect(read(older)).toEqual(aWorker())
    const { ready, ...cml } = aWorker().cml
    expect(read({ ...aWorker(), cml })).toEqual(aWorker())
    expect([drain, ready]).toEqual([null, null])
  })

  it('is refused when it is no such document', () => {
    expect(() => read({ id: 'w-1' })).toThrow()
    expect(() => read(null)).toThrow()
  })
})
