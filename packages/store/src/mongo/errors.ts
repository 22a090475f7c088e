import { StoreError } from '../store.ts'
import { UNIQUE_PATH } from './stored.ts'

/** Runs what talks to the server. Every failure comes out as a `StoreError` with a sentence for people. */
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

/** `secrets` never appear in a message, whatever the driver says. */
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
  const said = secrets.reduce((text, secret) => text.replaceAll(secret, HIDDEN), message)
  if (code === AUTHENTICATION_FAILED || code === UNAUTHORIZED)
    return `MongoDB refuses the user: ${said}. Check name and password in LCM_STORE, and that the user may read and write the database`
  if (UNREACHABLE.test(name) || isSystemCode(code))
    return `MongoDB can't be reached: ${said}. Check that it runs and that LCM_STORE names it`
  return `MongoDB failed: ${said}`
}

/** As the operating system names them: ENOTFOUND, ECONNRESET. */
const isSystemCode = (code: unknown): boolean => typeof code === 'string' && /^E[A-Z]+$/.test(code)

function isDriverError(error: unknown): error is DriverError {
  return error instanceof Error
}

/** The passwords in an address, as written and as meant. Where one ends is unclear when it has an unescaped @ in it. */
export function secretsIn(uri: string): readonly string[] {
  const passwords = [/^[^/]*\/\/[^:@]*:(.*?)@/, /^[^/]*\/\/[^:@]*:(.*)@/, /[?&]tlsCertificateKeyFilePassword=([^&]*)/i]
  const found = passwords.flatMap(pattern => pattern.exec(uri)?.[1] ?? [])
  const all = new Set(found.flatMap(secret => [secret, decoded(secret)]))
  // The longest first, so that nothing is left of one that has another in it.
  return [...all].filter(secret => secret !== '').sort((a, b) => b.length - a.length)
}

/** What is not rightly encoded is taken as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Which value another document has: `id`, a unique field, or null when the error is about something else. */
export function takenField(error: unknown): string | null {
  if (!isDriverError(error) || error.code !== DUPLICATE_KEY) return null
  const [key] = Object.keys(error.keyPattern ?? {})
  // Not every server names the key; the index is named before any value is quoted.
  const named = key ?? / index: (?:\S+\$)?(\S+) dup key/.exec(error.message)?.[1]
  if (named === '_id' || named === '_id_') return 'id'
  return named?.startsWith(UNIQUE_PATH) ? named.slice(UNIQUE_PATH.length) : null
}

/** Whether all that went wrong with many writes is that some were there already. */
export function isOnlyDuplicates(error: unknown): boolean {
  if (!isDriverError(error)) return false
  if (error.result?.getWriteConcernError?.()) return false
  const failures = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors ?? error]
  return failures.length > 0 && failures.every(failure => failure.code === DUPLICATE_KEY)
}
