import { effect } from '@preact/signals'
import { describe, expect, it } from 'vitest'
import { collection } from './versioned-collection.ts'

const things = () => collection<{ id: string; version: number }>()

describe('a collection', () => {
  it('keeps the newest version, regardless of arrival order', () => {
    const held = things()
    for (const version of [2, 5, 3]) held.put({ id: 'a', version })
    expect(held.get('a')?.version).toBe(5)
  })

  it('applies a deletion of its version, but not of an older one', () => {
    const held = things()
    held.put({ id: 'a', version: 5 })
    held.remove('a', 4)
    expect(held.get('a')).toBeDefined()
    held.remove('a', 5)
    expect(held.get('a')).toBeUndefined()
  })

  it('ignores a late update of a deleted resource', () => {
    const held = things()
    held.remove('a', 5)
    held.put({ id: 'a', version: 4 })
    expect(held.get('a')).toBeUndefined()
  })

  it('is replaced by a list, even with lower versions after the restore of a backup', () => {
    const held = things()
    held.put({ id: 'a', version: 5 })
    held.put({ id: 'b', version: 5 })
    held.remove('c', 5)
    const restored = ['a', 'c'].map(id => ({ id, version: 4 }))
    held.replaceBy(restored)
    expect([...held.all().values()]).toEqual(restored)
  })

  it('notifies its readers only when something changed', () => {
    const held = things()
    let readings = 0
    effect(() => {
      held.all()
      readings++
    })
    held.put({ id: 'a', version: 2 })
    held.put({ id: 'a', version: 1 })
    expect(readings).toBe(2)
  })
})
