import { createHash } from 'node:crypto'

/** Minimum and maximum, in simulated seconds. */
export type SecondsRange = readonly [number, number]

/**
 * Stateless randomness: every draw is a hash of the seed and its purpose. It doesn't depend on earlier draws, so a
 * reopened model continues as if it had never been closed.
 */
export interface SeededRandom {
  /** At least 0 and below 1. */
  fraction(...purpose: readonly (string | number)[]): number
  hex(length: number, ...purpose: readonly (string | number)[]): string
}

const FRACTION_BYTES = 6

export function seededRandom(seed: number): SeededRandom {
  const digest = (purpose: readonly (string | number)[]) =>
    createHash('sha256')
      .update(JSON.stringify([seed, ...purpose]))
      .digest()
  return {
    fraction: (...purpose) => digest(purpose).readUIntBE(0, FRACTION_BYTES) / 2 ** (8 * FRACTION_BYTES),
    hex: (length, ...purpose) => digest(purpose).toString('hex').slice(0, length),
  }
}

export const within = ([from, to]: SecondsRange, fraction: number): number => from + (to - from) * fraction
