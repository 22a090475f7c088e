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

  it('is not brought back by a late update or an old list', () => {
    const held = things()
    held.remove('a', 5)
    held.put({ id: 'a', version: 4 })
    held.replaceBy([{ id: 'a', version: 5 }])
    expect(held.get('a')).toBeUndefined()
  })

  it('drops what a list lacks and keeps what is newer than the list', () => {
    const held = things()
    held.put({ id: 'a', version: 5 })
    held.put({ id: 'b', version: 5 })
    held.replaceBy([{ id: 'a', version: 4 }])
    expect([...held.all().values()]).toEqual([{ id: 'a', version: 5 }])
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
