/** The same seed gives the same values on every machine. */
export interface SeededRandom {
  /** At least 0, below 1. */
  float(): number
  /** A whole number, at least 0, below `limit`. */
  int(limit: number): number
  bytes(count: number): Uint8Array
}

export function seededRandom(seed: number): SeededRandom {
  const next = sfc32(seed)
  const float = () => next() / 2 ** 32
  return {
    float,
    int: limit => Math.floor(float() * limit),
    bytes: count => Uint8Array.from({ length: count }, () => next() >>> 24),
  }
}

/** Small Fast Counter of 32 bits: passes PractRand, and needs no 64-bit arithmetic. */
function sfc32(seed: number): () => number {
  let a = seed >>> 0
  let b = Math.floor(seed / 2 ** 32) >>> 0
  let c = 0x9e3779b9
  let counter = 1
  const next = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  // Similar seeds start alike; twelve rounds separate them.
  for (let round = 0; round < 12; round += 1) next()
  return next
}
