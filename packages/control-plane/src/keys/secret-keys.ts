import { ProblemError } from '@lcm/contract/problems'
import { keyIdOf } from '../crypto.ts'

/** The secret keys of this installation. */
export interface SecretKeys {
  /** Newest first; never empty. */
  all(): readonly Uint8Array[]
  /** The file that holds them; null where an operator gives the keys to every replica. */
  readonly file: KeyFile | null
}

/** Both changes survive a crash once they return. */
export interface KeyFile {
  /** Puts a key in front. */
  add(key: Uint8Array): void
  /** Removes the keys with these ids for good. */
  remove(ids: readonly string[]): void
}

/** Keys in hexadecimal digits, separated by commas or line breaks, the newest first. */
export const SECRET_KEYS = /^[0-9a-f]{64}([\s,]+[0-9a-f]{64})*$/i
export const secretKeysOf = (text: string): Uint8Array[] =>
  text.split(/[\s,]+/).map(each => Uint8Array.from(Buffer.from(each, 'hex')))
export const textOfSecretKeys = (keys: readonly Uint8Array[]): string =>
  keys.map(key => Buffer.from(key).toString('hex')).join('\n')

/** Keys that this process can't change. */
export const givenKeys = (keys: readonly Uint8Array[]): SecretKeys => ({ all: () => keys, file: null })

/** Keys that are kept by `write`: all of them at once. */
export function storedKeys(
  first: readonly Uint8Array[],
  write: (keys: readonly Uint8Array[]) => void = () => undefined,
): SecretKeys {
  let keys = first
  const set = (next: readonly Uint8Array[]) => {
    try {
      write(next)
    } catch (cause) {
      throw new ProblemError('store_unavailable', cause instanceof Error ? cause.message : String(cause))
    }
    keys = next
  }
  return {
    all: () => keys,
    file: {
      add: key => set([key, ...keys]),
      remove: ids => set(keys.filter(key => !ids.includes(keyIdOf(key)))),
    },
  }
}
