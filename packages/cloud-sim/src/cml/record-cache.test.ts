import { describe, expect, it } from 'vitest'
import { recordCache } from './record-cache.ts'

function storedLabs() {
  const labs = new Map<string, string>()
  return { labs, records: recordCache({ stored: () => labs }, ['lab']) }
}

describe('stored texts', () => {
  it('are parsed once, and again after a change', () => {
    const { labs, records } = storedLabs()
    labs.set('a', '{"n":1}')
    const first = records.read('lab', 'a')
    expect(records.read('lab', 'a')).toBe(first)
    labs.set('a', '{"n":2}')
    expect(records.read('lab', 'a')).toEqual({ n: 2 })
  })

  it('are dropped when they are removed, even if never read again', () => {
    const { labs, records } = storedLabs()
    for (const key of ['a', 'b']) {
      labs.set(key, '{}')
      records.read('lab', key)
    }
    labs.delete('a')
    records.forget([{ kind: 'lab', key: 'a' }])
    expect(records.size).toBe(1)
  })

  it('are dropped soon after they disappear without a change', () => {
    const { labs, records } = storedLabs()
    for (let n = 0; n < 1_000; n++) {
      labs.clear()
      labs.set(`${n}`, '{}')
      records.read('lab', `${n}`)
    }
    expect(records.size).toBeLessThan(110)
  })
})
