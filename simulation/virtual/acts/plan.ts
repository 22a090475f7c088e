import { type SeededRandom, seededRandom } from '@lcm/testkit/seeded-random'
import { type Act, type ActName, FAULT_ACTS, FLEET_ACTS, LEARNER_ACTS, MANUAL_ACTS } from './act.ts'

/**
 * The pace of a run. `brisk`: default poll intervals, a cloud that boots 30 times as fast, and an act every half minute. `long`:
 * whole days, with controllers that poll less often.
 */
export type Pace = 'brisk' | 'long'

export interface RunSize {
  /** Maximum number of workers at a time. */
  readonly workers: number
  readonly hours: number
  readonly pace: Pace
}

/** Everything that determines a run. */
export interface Plan {
  readonly seed: number
  readonly size: RunSize
  readonly acts: readonly Act[]
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const LASTS_MS_MAX = 4 * MINUTE_MS

type Weights = Readonly<Partial<Record<ActName, number>>>

interface Phase {
  readonly fromMs: number
  readonly toMs: number
  readonly isStorm: boolean
}

/** Draws all acts of a run before it begins. */
export function planOf(seed: number, size: RunSize): Plan {
  // A separate random stream: the plan must not depend on how many ids the API has drawn.
  const random = seededRandom(seed + 0.25 * 2 ** 52)
  const acts = [...initialActs(size, random), ...phases(size, random).flatMap(phase => drawActs(phase, size, random))]
  return { seed, size, acts: acts.sort((a, b) => a.atMs - b.atMs) }
}

/** Creates the initial workers. */
function initialActs({ workers, pace }: RunSize, random: SeededRandom): Act[] {
  const count = pace === 'brisk' ? 2 : workers
  const withinMs = pace === 'brisk' ? MINUTE_MS : 20 * MINUTE_MS
  return Array.from({ length: count }, () =>
    actOf(random.int(4) === 0 ? 'create with a license' : 'create', random.int(withinMs), random),
  )
}

/** Short storms with time to recover between them. A brisk run is one storm. */
function phases({ hours, pace }: RunSize, random: SeededRandom): Phase[] {
  const endMs = hours * HOUR_MS
  if (pace === 'brisk') return [{ fromMs: 0, toMs: endMs, isStorm: true }]
  const all: Phase[] = []
  for (let fromMs = 0, isStorm = false; fromMs < endMs; isStorm = !isStorm) {
    const lengthMs = isStorm ? (10 + random.int(30)) * MINUTE_MS : (60 + random.int(180)) * MINUTE_MS
    all.push({ fromMs, toMs: Math.min(endMs, fromMs + lengthMs), isStorm })
    fromMs += lengthMs
  }
  return all
}

interface Rate {
  readonly weights: Weights
  readonly perHour: number
}

/** Acts per hour, by kind. */
function rates({ workers, pace }: RunSize, isStorm: boolean): Rate[] {
  if (pace === 'brisk')
    return [
      { weights: FLEET_ACTS, perHour: 40 },
      { weights: LEARNER_ACTS, perHour: 30 },
      { weights: MANUAL_ACTS, perHour: 15 },
      { weights: FAULT_ACTS, perHour: 25 },
    ]
  const people = [
    { weights: FLEET_ACTS, perHour: 2 + workers / 20 },
    { weights: LEARNER_ACTS, perHour: 6 + workers / 8 },
  ]
  if (!isStorm) return people
  return [...people, { weights: MANUAL_ACTS, perHour: 8 + workers / 10 }, { weights: FAULT_ACTS, perHour: 30 }]
}

function drawActs({ fromMs, toMs, isStorm }: Phase, size: RunSize, random: SeededRandom): Act[] {
  const lengthMs = toMs - fromMs
  return rates(size, isStorm).flatMap(({ weights, perHour }) =>
    Array.from({ length: Math.round((perHour * lengthMs) / HOUR_MS) }, () =>
      actOf(drawWeighted(weights, random), fromMs + random.int(lengthMs), random),
    ),
  )
}

const share = (random: SeededRandom): number => random.int(10_000) / 10_000

const actOf = (act: ActName, atMs: number, random: SeededRandom): Act => ({
  atMs,
  act,
  target: share(random),
  amount: share(random),
  forMs: 1_000 + random.int(LASTS_MS_MAX),
})

function drawWeighted(weights: Weights, random: SeededRandom): ActName {
  const entries = Object.entries(weights) as [ActName, number][]
  let left = random.float() * entries.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [name, weight] of entries) {
    left -= weight
    if (left < 0) return name
  }
  throw new Error('nothing to draw from')
}
