import { createCipheriv, createDecipheriv, createHash, hkdfSync, timingSafeEqual } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** Encrypts text with a key of this installation, bound to a purpose. */
export interface Sealing {
  seal(text: string, purpose: string): string
  /** Null for another key or purpose, or after tampering. */
  open(sealed: string, purpose: string): string | null
}

/** AES-256-GCM with a derived key. */
export function sealing(secretKey: Uint8Array, randomBytes: (size: number) => Uint8Array): Sealing {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'lcm sealing', KEY_BYTES))
  return {
    seal(text, purpose) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url')
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < IV_BYTES + TAG_BYTES) return null
      const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag)
      try {
        const shown = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
        return shown.toString('utf8')
      } catch {
        return null
      }
    },
  }
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Compares digests in constant time, so timing reveals nothing about the secrets. */
export const sameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())

export const randomText = (randomBytes: (size: number) => Uint8Array, bytes: number): string =>
  Buffer.from(randomBytes(bytes)).toString('base64url')
