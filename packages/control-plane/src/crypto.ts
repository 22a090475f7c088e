import { createCipheriv, createDecipheriv, createHash, hkdfSync, timingSafeEqual } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** Encrypts text with one key, bound to a purpose. */
export interface Sealing {
  seal(text: string, purpose: string): string
  /** Null for another key or purpose, or after tampering. */
  open(sealed: string, purpose: string): string | null
}

/** Each use has a derived key of its own, so that a text of one use can't be opened as a text of the other. */
const LABELS = { secrets: 'lcm sealing', cookies: 'lcm cookies' } as const

/** Version of the format: `k1_<key id>_<base64url>`. Texts of 0.1.0 are base64url alone. */
const FORMAT = 'k1'
const NAMED = /^k1_([0-9a-f]{8})_([\w-]+)$/

/** By key and label: every request with a cookie needs some. */
const known = new WeakMap<Uint8Array, Map<string, Buffer>>()

function derived(secretKey: Uint8Array, label: string, bytes: number): Buffer {
  const ofKey = known.get(secretKey) ?? new Map<string, Buffer>()
  known.set(secretKey, ofKey)
  const key = ofKey.get(label) ?? Buffer.from(hkdfSync('sha256', secretKey, '', label, bytes))
  ofKey.set(label, key)
  return key
}

/** The public name of a key, derived from it. */
export const keyIdOf = (secretKey: Uint8Array): string => derived(secretKey, 'lcm key id', 4).toString('hex')

/** The id of the key that sealed a text; null for a text of 0.1.0. */
export const keyIdIn = (sealed: string): string | null => NAMED.exec(sealed)?.[1] ?? null

/** AES-256-GCM with a key that is derived for one use. */
export function sealing(
  secretKey: Uint8Array,
  use: keyof typeof LABELS,
  randomBytes: (size: number) => Uint8Array,
): Sealing {
  const id = keyIdOf(secretKey)
  const key = derived(secretKey, LABELS[use], KEY_BYTES)
  return {
    seal(text, purpose) {
      const hidden = encrypt(Buffer.from(text), { key, purpose, randomBytes })
      return `${FORMAT}_${id}_${hidden.toString('base64url')}`
    },
    open(sealed, purpose) {
      const [, named, hidden] = NAMED.exec(sealed) ?? [null, id, sealed]
      return named === id
        ? (decrypt(Buffer.from(hidden ?? '', 'base64url'), { key, purpose })?.toString() ?? null)
        : null
    },
  }
}

interface Lock {
  readonly key: Uint8Array
  /** What the bytes are for: they can't be used for anything else. */
  readonly purpose: string
}

/** AES-256-GCM. */
export function encrypt(
  bytes: Uint8Array,
  { key, purpose, randomBytes }: Lock & { randomBytes: (size: number) => Uint8Array },
): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
  const hidden = [cipher.update(bytes), cipher.final()]
  return Buffer.concat([iv, cipher.getAuthTag(), ...hidden])
}

/** Null for another key or purpose, or after tampering. */
export function decrypt(bytes: Uint8Array, { key, purpose }: Lock): Buffer | null {
  if (bytes.length < IV_BYTES + TAG_BYTES) return null
  const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

/** Id of the document of a random secret: half a digest is as hard to invert, and fits into a table. */
export const idOfSecret = (secret: string): string => sha256(secret).slice(0, 32)

/** Compares digests in constant time, so timing reveals nothing about the secrets. */
export const sameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())

export const randomText = (randomBytes: (size: number) => Uint8Array, bytes: number): string =>
  Buffer.from(randomBytes(bytes)).toString('base64url')
