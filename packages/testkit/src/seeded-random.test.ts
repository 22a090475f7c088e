import { expect, it } from 'vitest'
import { seededRandom } from './seeded-random.ts'

const floats = (seed: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: 1_000 }, () => random.float())
}

it('returns the same values for the same seed and others for the next', () => {
  expect(floats(7)).toEqual(floats(7))
  const [one, next] = [floats(7), floats(8)]
  expect(one.filter((value, index) => value === next[index])).toEqual([])
})

it('never changes its values, so that an old seed replays an old run', () => {
  const random = seededRandom(1)
  const answers = [random.int(1e9), random.int(1e9), random.int(1e9), ...random.bytes(4)]
  expect(answers).toEqual([133426848, 760942115, 163698046, 137, 116, 21, 39])
})

it('distinguishes seeds beyond 32 bits', () => {
  expect(floats(2 ** 40)).not.toEqual(floats(2 ** 41))
})

it('is uniform between 0 and 1', () => {
  const values = floats(1)
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  expect(mean).toBeCloseTo(0.5, 1)
  expect(values.every(value => value >= 0 && value < 1)).toBe(true)
})

it('returns every whole number below the limit', () => {
  const random = seededRandom(3)
  const seen = new Set(Array.from({ length: 200 }, () => random.int(6)))
  expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5])
})

it('returns the requested number of bytes', () => {
  const bytes = seededRandom(3).bytes(1_000)
  expect(bytes).toHaveLength(1_000)
  expect(new Set(bytes).size).toBeGreaterThan(200)
})
