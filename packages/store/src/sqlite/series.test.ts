import { beforeEach, expect, it } from 'vitest'
import type { Series } from '../store.ts'
import { openSqliteStore } from './store.ts'

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
const sample = (series: string, second: number, value = second) => ({ series, at: at(second), body: { value } })

let series: Series
beforeEach(async () => {
  series = openSqliteStore(':memory:').series
  await series.append([sample('a', 1), sample('b', 1)])
  expect(await newest('a', 'b', 'c')).toEqual([sample('a', 1), sample('b', 1), undefined])
})

const newest = async (...names: string[]) => {
  const found = await series.newest(names)
  return names.map(name => found.get(name))
}

it('returns a sample written after the last read', async () => {
  await series.append([sample('a', 2), sample('c', 2)])
  expect(await newest('a', 'b', 'c')).toEqual([sample('a', 2), sample('b', 1), sample('c', 2)])
})

it('returns a sample that replaced the newest one', async () => {
  await series.append([sample('a', 1, 11)])
  expect(await newest('a')).toEqual([sample('a', 1, 11)])
})

it('keeps the newest sample when an older one arrives late', async () => {
  await series.append([sample('a', 0)])
  expect(await newest('a')).toEqual([sample('a', 1)])
})

it('returns no sample that was dropped or pruned', async () => {
  await series.drop('a')
  expect(await newest('a', 'b')).toEqual([undefined, sample('b', 1)])
  await series.prune(at(2), 9)
  expect(await newest('b')).toEqual([undefined])
})

it('returns samples of more series than the cache holds', async () => {
  const many = Array.from({ length: 24_000 }, (_, n) => `many-${n}`)
  await series.append(many.map(name => sample(name, 3)))
  const others = many.map(name => `other-${name}`)
  expect((await series.newest(many)).size).toBe(many.length)
  expect((await series.newest(['a', ...others])).size).toBe(1)
  expect(await newest('a', 'many-0', 'other-0')).toEqual([sample('a', 1), sample('many-0', 3), undefined])
})

it('caches two series of each of 10,000 workers, read page by page', async () => {
  const workers = Array.from({ length: 10_000 }, (_, n) => `w-${n}`)
  const both = (worker: string) => [`worker:${worker}`, `labs:${worker}`]
  await series.append(workers.map(worker => sample(`worker:${worker}`, 3)))
  const firstOf = async () => (await series.newest(both('w-0'))).get('worker:w-0')
  const first = await firstOf()
  for (let n = 0; n < workers.length; n += 100) await series.newest(workers.slice(n, n + 100).flatMap(both))
  expect(await firstOf()).toBe(first)
})
