import { effect } from '@preact/signals'
import { describe, expect, it } from 'vitest'
import { collection } from './collection.ts'

const things = () => collection<{ id: string; version: number }>()

describe('a collection', () => {
  it('holds the newest version, in whatever order they come', () => {
    const held = things()
    for (const version of [2, 5, 3]) held.put({ id: 'a', version })
    expect(held.get('a')?.version).toBe(5)
  })

  it('takes a deletion of the version it holds, but not of an older one', () => {
    const held = things()
    held.put({ id: 'a', version: 5 })
    held.remove('a', 4)
    expect(held.get('a')).toBeDefined()
    held.remove('a', 5)
    expect(held.get('a')).toBeUndefined()
  })

  it('is not brought back by a late update', () => {
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

  it('wakes its readers when something changed, and only then', () => {
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
