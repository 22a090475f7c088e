import { expect, it } from 'vitest'
import { changeRing } from './change-ring.ts'

const at = (revision: number) => ({ revision, nth: 1 })
const aChange = (revision: number) => ({
  position: at(revision),
  change: { kind: 'worker', id: 'w-1', version: revision, deleted: false, position: `${revision}` },
})

function filled(revisions: readonly number[], changesMax: number) {
  const ring = changeRing(at(0), changesMax)
  for (const revision of revisions) ring.add(aChange(revision))
  const after = (revision: number, limit = 100) =>
    ring.after(at(revision), limit).map(({ position }) => position.revision)
  return { ring, after }
}

it('returns the changes after a position, also when the position has no change', () => {
  const { after } = filled([2, 4, 6, 8], 10)
  expect([after(0), after(2), after(3), after(7), after(8), after(9)]).toEqual([
    [2, 4, 6, 8],
    [4, 6, 8],
    [4, 6, 8],
    [8],
    [],
    [],
  ])
  expect([after(0, 2), after(4, 1)]).toEqual([[2, 4], [6]])
})

it('holds the newest changes, and reports where it starts', () => {
  const { ring, after } = filled([], 3)
  expect([ring.isEmpty, ring.from]).toEqual([true, at(0)])
  for (let revision = 1; revision <= 20; revision += 1) {
    ring.add(aChange(revision))
    const first = Math.max(0, revision - 3)
    expect(ring.from).toEqual(at(first))
    expect(after(0)).toEqual([1, 2, 3].map(nth => first + nth).filter(held => held <= revision))
  }
  expect(ring.isEmpty).toBe(false)
})

it('accepts older changes only when all fit', () => {
  const { ring, after } = filled([5, 6, 7], 4)
  ring.beginAt(at(1), [aChange(2), aChange(4)])
  expect([ring.from, after(0)]).toEqual([at(0), [5, 6, 7]])
  ring.beginAt(at(3), [aChange(4)])
  expect([ring.from, after(0)]).toEqual([at(3), [4, 5, 6, 7]])
  ring.add(aChange(8))
  expect([ring.from, after(0)]).toEqual([at(4), [5, 6, 7, 8]])
})
