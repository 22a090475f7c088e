import type { LabNeeds } from '../lab/topology.ts'
import type { Capacity } from '../template/worker-template.ts'
import { maximize } from './linear-program.ts'

/** The share of each resource of a machine that a lab takes. */
export type Shares = readonly number[]

export const sharesOf = (needs: LabNeeds, capacity: Capacity): Shares => [
  needs.cpu_cores / capacity.cpu_cores,
  needs.memory_gb / capacity.memory_gb,
  needs.storage_gb / capacity.storage_gb,
  needs.node_count / capacity.max_nodes,
]

/** Sums of decimals differ by less. */
export const ROUNDING = 1e-6

export const fitsIn = (shares: Shares, left: Shares): boolean =>
  shares.every((share, at) => share <= (left[at] ?? 0) + ROUNDING)

/** With more kinds at once, only the totals count. */
const KINDS_MAX = 8
/** How many patterns are tried for the dearest one. */
const TRIES_MAX = 5_000
const PATTERNS_MAX = 500

/**
 * The fewest machines that can hold a number of labs of each kind, never too many: the linear program over all ways to fill a
 * machine, rounded up. Labs may be split and moved at any moment, so no schedule needs fewer. It is exact for four kinds of labs;
 * where a machine can be filled in too many ways to try them all, it is lower and still true.
 */
export function packingBound(kinds: readonly Shares[]): (counts: readonly number[]) => number {
  const byPatterns = patternBound(kinds)
  const known = new Map<string, number>()
  return counts => {
    const key = counts.join(' ')
    const before = known.get(key)
    if (before !== undefined) return before
    const isUsed = counts.some(count => count > 0)
    const machines = Math.ceil(Math.max(byTotals(kinds, counts), byPatterns(counts)) - ROUNDING)
    known.set(key, Math.max(isUsed ? 1 : 0, machines))
    return Math.max(isUsed ? 1 : 0, machines)
  }
}

export const WHOLE_MACHINE: Shares = [1, 1, 1, 1]

const byTotals = (kinds: readonly Shares[], counts: readonly number[]): number =>
  Math.max(
    ...WHOLE_MACHINE.map((_, resource) =>
      kinds.reduce((sum, shares, kind) => sum + (shares[resource] ?? 0) * (counts[kind] ?? 0), 0),
    ),
  )

/**
 * Prices of the kinds so that no pattern costs more than one machine: then the labs together need at least as many machines as
 * they cost. Patterns that cost more are found and added until there is none.
 */
function patternBound(kinds: readonly Shares[]): (counts: readonly number[]) => number {
  const patterns = kinds.map((shares, kind) =>
    kinds.map((_, other) => (other === kind ? mostOf(shares, WHOLE_MACHINE) : 0)),
  )
  const known = new Map<string, Dearest>()
  const dearest = (prices: readonly number[]) => {
    const key = prices.join(' ')
    const found = known.get(key) ?? dearestPattern(kinds, prices)
    known.set(key, found)
    return found
  }
  return counts => {
    const used = [...kinds.keys()].filter(kind => (counts[kind] ?? 0) > 0 && kinds[kind]?.some(share => share > 0))
    if (used.length > KINDS_MAX) return 0
    const goal = used.map(kind => counts[kind] ?? 0)
    for (;;) {
      const limits = patterns.map(pattern => used.map(kind => pattern[kind] ?? 0))
      const solved = maximize(goal, limits) ?? []
      const prices = kinds.map((_, kind) => solved[used.indexOf(kind)] ?? 0)
      const { worth, worthMost, pattern } = dearest(prices)
      // Divided by what any pattern may be worth, the prices are within every limit.
      if (worth <= 1 + ROUNDING || patterns.length >= PATTERNS_MAX)
        return prices.reduce((sum, price, kind) => sum + price * (counts[kind] ?? 0), 0) / Math.max(1, worthMost)
      patterns.push(pattern)
    }
  }
}

const mostOf = (shares: Shares, left: Shares): number =>
  Math.min(
    ...shares.map((share, at) =>
      share > 0 ? Math.floor(((left[at] ?? 0) + ROUNDING) / share) : Number.MAX_SAFE_INTEGER,
    ),
  )

interface PricedPattern {
  readonly pattern: number[]
  readonly worth: number
}

interface Dearest extends PricedPattern {
  /** No pattern is worth more. Above its own worth if not all patterns could be tried. */
  readonly worthMost: number
}

/** The pattern with the highest worth at these prices, by branch and bound. */
function dearestPattern(kinds: readonly Shares[], prices: readonly number[]): Dearest {
  const order = [...kinds.keys()]
    .filter(kind => (prices[kind] ?? 0) > 0)
    .sort((a, b) => density(kinds, prices, b) - density(kinds, prices, a))
  let best: PricedPattern = { worth: 0, pattern: kinds.map(() => 0) }
  let tries = 0
  const extend = (depth: number, { worth, pattern }: PricedPattern, left: Shares): void => {
    tries += 1
    if (worth > best.worth + ROUNDING) best = { worth, pattern }
    const kind = order[depth]
    if (kind === undefined || tries > TRIES_MAX) return
    if (worth + worthMax(order.slice(depth), kinds, prices, left) <= best.worth + ROUNDING) return
    const shares = kinds[kind] ?? WHOLE_MACHINE
    for (let count = mostOf(shares, left); count >= 0; count -= 1) {
      const more = { worth: worth + count * (prices[kind] ?? 0), pattern: pattern.with(kind, count) }
      const remaining = left.map((free, at) => free - count * (shares[at] ?? 0))
      extend(depth + 1, more, remaining)
    }
  }
  extend(0, best, WHOLE_MACHINE)
  const worthMost = tries > TRIES_MAX ? worthMax(order, kinds, prices, WHOLE_MACHINE) : best.worth
  return { ...best, worthMost }
}

const density = (kinds: readonly Shares[], prices: readonly number[], kind: number): number =>
  (prices[kind] ?? 0) / Math.max(...(kinds[kind] ?? WHOLE_MACHINE))

/** No pattern in the rest of the machine is worth more: each resource alone, filled with the kind that pays best for it. */
function worthMax(order: readonly number[], kinds: readonly Shares[], prices: readonly number[], left: Shares): number {
  const perResource = left.map((free, resource) =>
    Math.max(
      0,
      ...order.map(kind => {
        const price = prices[kind] ?? 0
        const share = kinds[kind]?.[resource] ?? 0
        return price === 0 ? 0 : share > 0 ? (price * free) / share : Number.POSITIVE_INFINITY
      }),
    ),
  )
  return Math.min(...perResource)
}
