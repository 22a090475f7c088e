import { createHash, timingSafeEqual } from 'node:crypto'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Compares digests in constant time, so timing reveals nothing about the secrets. */
export const sameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())

export const randomText = (randomBytes: (size: number) => Uint8Array, bytes: number): string =>
  Buffer.from(randomBytes(bytes)).toString('base64url')
