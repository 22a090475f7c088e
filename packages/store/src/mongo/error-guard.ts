import { StoreError } from '../store.ts'
import { UNIQUE_PATH } from './stored-records.ts'

/** Runs a call to the server. Every failure becomes a `StoreError` with a readable message. */
export type Guard = <T>(work: () => Promise<T>) => Promise<T>

const DUPLICATE_KEY = 11_000
const AUTHENTICATION_FAILED = 18
const UNAUTHORIZED = 13
const UNREACHABLE = /ServerSelection|Network|WaitQueue|Pool|Topology|NotConnected|Closed/
const HIDDEN = '***'

interface DriverError extends Error {
  readonly code?: unknown
  readonly keyPattern?: Readonly<Record<string, unknown>>
  readonly writeErrors?: unknown
  readonly result?: { getWriteConcernError?(): unknown }
}

/** `secrets` never appear in a message, whatever the driver reports. */
export function guardWith(secrets: readonly string[]): Guard {
  return async work => {
    try {
      return await work()
    } catch (error) {
      throw error instanceof StoreError ? error : new StoreError(sentenceFor(error, secrets))
    }
  }
}

function sentenceFor(error: unknown, secrets: readonly string[]): string {
  const { name, message, code }: DriverError = isDriverError(error) ? error : new Error(String(error))
  const redacted = secrets.reduce((text, secret) => text.replaceAll(secret, HIDDEN), message)
  if (code === AUTHENTICATION_FAILED || code === UNAUTHORIZED)
    return `MongoDB rejected the user: ${redacted}. Check user and password in LCM_STORE, and that the user may read and write the database`
  if (UNREACHABLE.test(name) || isSystemCode(code))
    return `MongoDB can't be reached: ${redacted}. Check that it runs and that LCM_STORE has its address`
  return `MongoDB failed: ${redacted}`
}

/** Codes of the operating system, such as ENOTFOUND and ECONNRESET. */
const isSystemCode = (code: unknown): boolean => typeof code === 'string' && /^E[A-Z]+$/.test(code)

function isDriverError(error: unknown): error is DriverError {
  return error instanceof Error
}

/**
 * Passwords in the address, raw and decoded. Several candidates, because an unescaped @ makes the end of a password
 * ambiguous.
 */
export function secretsIn(uri: string): readonly string[] {
  const passwords = [/^[^/]*\/\/[^:@]*:(.*?)@/, /^[^/]*\/\/[^:@]*:(.*)@/, /[?&]tlsCertificateKeyFilePassword=([^&]*)/i]
  const found = passwords.flatMap(pattern => pattern.exec(uri)?.[1] ?? [])
  const all = new Set(found.flatMap(secret => [secret, decodeOrKeep(secret)]))
  // Longest first, so that no part of a secret that contains another one is left.
  return [...all].filter(secret => secret !== '').sort((a, b) => b.length - a.length)
}

/** Invalid encoding is kept as it is. */
export function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Name of the taken value: `id`, a unique field, or null when the error has another cause. */
export function takenField(error: unknown): string | null {
  if (!isDriverError(error) || error.code !== DUPLICATE_KEY) return null
  const [key] = Object.keys(error.keyPattern ?? {})
  // Some servers don't report the key pattern; the index name comes before any quoted value.
  const named = key ?? / index: (?:\S+\$)?(\S+) dup key/.exec(error.message)?.[1]
  if (named === '_id' || named === '_id_') return 'id'
  return named?.startsWith(UNIQUE_PATH) ? named.slice(UNIQUE_PATH.length) : null
}

/** Whether duplicates are the only failures of a bulk write. */
export function isOnlyDuplicates(error: unknown): boolean {
  if (!isDriverError(error)) return false
  if (error.result?.getWriteConcernError?.()) return false
  const failures = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors ?? error]
  return failures.length > 0 && failures.every(failure => failure.code === DUPLICATE_KEY)
}
