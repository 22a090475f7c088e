import type { ApiParts } from '../api-dependencies.ts'

/** Crockford's alphabet: sorts like the numbers and has no letters that are easily confused. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** 2020-01-01: eight characters of milliseconds from here reach past 2054. */
const ORIGIN_MS = 1_577_836_800_000
const TIME_CHARS = 8
export const ID_RANDOM_BYTES = 5

export type IdPrefix = 'w' | 'wt' | 'ld' | 'ls' | 'lr' | 'tk' | 'll' | 'pe' | 'sv' | 'nt' | 'no' | 'lp'

/** `w-` + eight characters of time + five of chance: short, and sorted by creation. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  const chance = Array.from(random.subarray(0, ID_RANDOM_BYTES), byte => ALPHABET[byte % 32]).join('')
  return `${prefix}-${base32(nowMs - ORIGIN_MS, TIME_CHARS)}${chance}`
}

function base32(value: number, chars: number): string {
  let rest = value
  let text = ''
  for (let i = 0; i < chars; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** The n-th id after one, for resources that are created together: the same at every try. */
export function nthId(id: string, n: number): string {
  const chance = [...id.slice(-ID_RANDOM_BYTES)].reduce((sum, char) => sum * 32 + ALPHABET.indexOf(char), 0)
  return `${id.slice(0, -ID_RANDOM_BYTES)}${base32((chance + n) % 32 ** ID_RANDOM_BYTES, ID_RANDOM_BYTES)}`
}

export const newId = ({ clock, randomBytes }: Pick<ApiParts, 'clock' | 'randomBytes'>, prefix: IdPrefix): string =>
  makeId(prefix, clock.now(), randomBytes(ID_RANDOM_BYTES))
