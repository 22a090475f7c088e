import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maximize } from './linear-program.ts'
import { packingBound, type Shares } from './packing-bound.ts'

const MACHINE = { cpu: 48, memory: 184 }
const lab = (cpu: number, memory: number): Shares => [cpu / MACHINE.cpu, memory / MACHINE.memory, 0, 0]
const SMALL = lab(4, 2.3)
const MEDIUM = lab(6, 17)
const LARGE = lab(8, 28)

const fitsAll = (labs: readonly Shares[]) =>
  [0, 1, 2, 3].every(resource => labs.reduce((sum, shares) => sum + (shares[resource] ?? 0), 0) <= 1 + 1e-6)

/** The fewest machines, by trying every way to distribute the labs. */
function fewestMachines(labs: readonly Shares[]): number {
  let best = labs.length
  const distribute = (machines: readonly Shares[][], left: readonly Shares[]): void => {
    if (machines.length >= best) return
    const [next, ...others] = left
    if (next === undefined) {
      best = machines.length
      return
    }
    for (const [at, held] of machines.entries())
      if (fitsAll([...held, next])) distribute(machines.with(at, [...held, next]), others)
    distribute([...machines, [next]], others)
  }
  distribute([], labs)
  return best
}

/** The value of the linear program at every corner that three constraints make, as a check on the simplex method. */
function bestCorner(kinds: readonly Shares[], counts: readonly number[]): number {
  const patterns: number[][] = []
  for (let a = 0; a <= 12; a += 1)
    for (let b = 0; b <= 12; b += 1)
      for (let c = 0; c <= 12; c += 1) {
        const labs = kinds.flatMap((kind, at) => new Array<Shares>([a, b, c][at] ?? 0).fill(kind))
        if (fitsAll(labs)) patterns.push([a, b, c])
      }
  const full = patterns.filter(p => !patterns.some(q => q !== p && q.every((count, at) => count >= (p[at] ?? 0))))
  const planes = [...full.map(row => [...row, 1]), [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
  let best = 0
  for (const [i, first = []] of planes.entries())
    for (const [j, second = []] of planes.slice(0, i).entries())
      for (const third of planes.slice(0, j)) {
        const y = intersection([first, second, third])
        const isAllowed = y?.every(price => price >= -1e-9) && full.every(row => dot(row, y) <= 1 + 1e-9)
        if (y !== null && isAllowed) best = Math.max(best, dot(counts, y))
      }
  return best
}

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, at) => sum + x * (b[at] ?? 0), 0)

/** By Cramer's rule. */
function intersection(planes: readonly (readonly number[])[]): number[] | null {
  const determinant = (columns: readonly number[]) => {
    const [[a = 0, b = 0, c = 0] = [], [d = 0, e = 0, f = 0] = [], [g = 0, h = 0, i = 0] = []] = planes.map(plane =>
      columns.map(column => plane[column] ?? 0),
    )
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
  }
  const whole = determinant([0, 1, 2])
  if (Math.abs(whole) < 1e-9) return null
  return [determinant([3, 1, 2]), determinant([0, 3, 2]), determinant([0, 1, 3])].map(part => part / whole)
}

describe('the packing bound', () => {
  const machinesFor = packingBound([SMALL, MEDIUM, LARGE])

  it('is none without labs, and one for a single lab', () => {
    expect(machinesFor([0, 0, 0])).toBe(0)
    expect(machinesFor([0, 0, 1])).toBe(1)
  })

  it('counts what really fits: six large labs fill a machine by their cores', () => {
    expect(machinesFor([0, 0, 6])).toBe(1)
    expect(machinesFor([0, 0, 7])).toBe(2)
  })

  it('sees that labs don’t divide a machine: three that take over a half each need three machines', () => {
    expect(packingBound([lab(25, 1)])([3])).toBe(3)
  })

  it('combines kinds: labs of 18 and of 25 cores leave a part of a machine unused', () => {
    // Two of 18 cores fill a machine, or one of each kind; by their cores alone they would need seven machines.
    expect(packingBound([lab(18, 1), lab(25, 1)])([12, 3])).toBe(8)
  })

  it('counts labs without needs as one machine', () => {
    expect(packingBound([[0, 0, 0, 0]])([5])).toBe(1)
  })

  it('is the best corner of the dual', () => {
    const count = fc.nat({ max: 60 })
    fc.assert(
      fc.property(fc.tuple(count, count, count), counts => {
        expect(machinesFor(counts)).toBe(Math.ceil(bestCorner([SMALL, MEDIUM, LARGE], counts) - 1e-6))
      }),
      { numRuns: 20 },
    )
  })

  it('is never more than the fewest machines, and seldom less', () => {
    const amount = fc.integer({ min: 1, max: 48 })
    const kinds = fc.array(fc.tuple(amount, fc.integer({ min: 1, max: 184 })), { minLength: 1, maxLength: 4 })
    let [exact, all] = [0, 0]
    fc.assert(
      fc.property(kinds, fc.array(fc.nat({ max: 2 }), { minLength: 4, maxLength: 4 }), (needs, given) => {
        const shares = needs.map(([cpu, memory]) => lab(cpu, memory))
        const counts = shares.map((_, kind) => given[kind] ?? 0)
        const labs = shares.flatMap((each, kind) => new Array<Shares>(counts[kind] ?? 0).fill(each))
        const bound = packingBound(shares)(counts)
        const fewest = fewestMachines(labs)
        expect(bound).toBeLessThanOrEqual(fewest)
        all += 1
        if (bound === fewest) exact += 1
      }),
      { seed: 9, numRuns: 200 },
    )
    expect(exact / all).toBeGreaterThan(0.95)
  })

  it('stays a bound with more patterns than can be tried', () => {
    const kinds = Array.from({ length: 8 }, (_, n) => lab(0.7 + n * 0.11, 1 + ((n * 7) % 8) * 0.9))
    const bound = packingBound(kinds)(kinds.map(() => 40))
    const [cpu, memory] = [0, 1].map(at => kinds.reduce((sum, shares) => sum + 40 * (shares[at] ?? 0), 0))
    const totals = Math.ceil(Math.max(cpu ?? 0, memory ?? 0))
    expect(bound).toBeGreaterThanOrEqual(totals)
    expect(bound).toBeLessThanOrEqual(totals + 1)
  })

  it('stays a bound with more kinds than can be tried, and not below the totals', () => {
    const kinds = Array.from({ length: 40 }, (_, n) => lab(1 + n * 0.11, 1 + ((n * 7) % 40) * 0.3))
    const bound = packingBound(kinds)(kinds.map(() => 3))
    const cpus = kinds.reduce((sum, shares) => sum + 3 * (shares[0] ?? 0), 0)
    expect(bound).toBeGreaterThanOrEqual(Math.ceil(cpus))
    expect(bound).toBeLessThanOrEqual(Math.ceil(cpus) + 2)
  })
})

describe('the linear program', () => {
  it('finds the best corner', () => {
    const found = maximize(
      [3, 2],
      [
        [0.5, 0.5],
        [1, 0],
      ],
    )
    expect(found).toEqual([1, 1])
  })

  it('has no solution without a limit', () => {
    expect(maximize([1, 1], [[1, 0]])).toBeNull()
  })
})
