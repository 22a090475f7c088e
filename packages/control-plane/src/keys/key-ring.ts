import { ProblemError } from '@lcm/contract/problems'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection } from '@lcm/store/store'
import { keyIdIn, keyIdOf, randomText, type Sealing, sealing } from '../crypto.ts'
import type { KeyRingState } from '../internal-documents.ts'
import type { SecretKeys } from './secret-keys.ts'

const REPORT_MS = 30_000
/** A replica that was silent for longer is gone. */
const SILENT_MS_MAX = 90_000

export interface KeyRingParts {
  readonly keys: SecretKeys
  readonly rings: Collection<KeyRingState>
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly log: Logger
}

/**
 * Seals with the active key, which the store names, so that all replicas agree. A writer must check afterwards that the key of
 * its text is still active, because a rotation that ended in between has not seen the text.
 */
export interface KeyRing {
  readonly keys: SecretKeys
  /** Rejects when this replica lacks the active key. */
  seal(text: string, purpose: string): Promise<string>
  /** Whether a text is sealed with the key that is active now. */
  isActive(sealed: string): Promise<boolean>
  /**
   * Opens a text of the store; null for a text whose key is lost, or after tampering. Rejects when only another replica has
   * its key. `read` may be called again, because a rotation may seal the text with another key meanwhile.
   */
  openStored(read: () => Promise<string | null>, purpose: string): Promise<string | null>
  /** The state in the store. Rejects when this replica lacks the active key. */
  state(): Promise<KeyRingState>
  /** Seals cookies. They end when their key is removed. */
  readonly cookies: Sealing
  /** Ids of the keys of this replica, newest first. */
  ids(): readonly string[]
}

export function keyRing(parts: KeyRingParts): KeyRing {
  const { keys, randomBytes } = parts
  const held = heldKeys(keys)
  let lastActive: string | null = null

  async function state(): Promise<KeyRingState> {
    for (;;) {
      const stored = await parts.rings.get('keys')
      if (stored === null || held.of(stored.active) === undefined) {
        await adopt(parts, held.ids(), stored)
        continue
      }
      lastActive = stored.active
      return stored
    }
  }

  async function refuseMissing(sealed: string): Promise<void> {
    const id = keyIdIn(sealed)
    if (id === null || held.of(id) !== undefined) return
    const { active, older } = await state()
    if (id === active || older.includes(id)) throw missing(id)
  }

  async function openStored(read: () => Promise<string | null>, purpose: string): Promise<string | null> {
    const sealed = await read()
    const text = sealed === null ? null : openedBy(held.candidates(sealed), sealed, purpose)
    if (text !== null || sealed === null) return text
    if ((await read()) !== sealed) return openStored(read, purpose)
    await refuseMissing(sealed)
    return null
  }

  return {
    keys,
    ids: held.ids,
    state,
    async seal(text, purpose) {
      const { active } = await state()
      const key = held.of(active)
      if (key === undefined) throw missing(active)
      return sealing(key, 'secrets', randomBytes).seal(text, purpose)
    },
    isActive: async sealed => (await state()).active === keyIdIn(sealed),
    openStored,
    cookies: cookieSealing(parts, () => held.of(lastActive) ?? keys.all().at(-1)),
  }
}

/** The keys of this process by id. */
interface HeldKeys {
  ids(): readonly string[]
  of(id: string | null): Uint8Array | undefined
  /** Keys that may open a text. One of 0.1.0 names no key, so any may be its own. */
  candidates(sealed: string): readonly Uint8Array[]
}

function heldKeys(keys: SecretKeys): HeldKeys {
  const of = (id: string | null) => keys.all().find(key => keyIdOf(key) === id)
  return {
    ids: () => keys.all().map(keyIdOf),
    of,
    candidates(sealed) {
      const id = keyIdIn(sealed)
      if (id === null) return [...keys.all()].reverse()
      const key = of(id)
      return key === undefined ? [] : [key]
    },
  }
}

function openedBy(candidates: readonly Uint8Array[], sealed: string, purpose: string): string | null {
  for (const key of candidates) {
    const text = sealing(key, 'secrets', noRandomness).open(sealed, purpose)
    if (text !== null) return text
  }
  return null
}

/** Opening draws nothing. */
function noRandomness(): never {
  throw new Error('only sealing draws random bytes')
}

const cookieSealing = ({ keys, randomBytes }: KeyRingParts, active: () => Uint8Array | undefined): Sealing => ({
  seal(text, purpose) {
    const key = active()
    if (key === undefined) throw new Error('there is no secret key')
    return sealing(key, 'cookies', randomBytes).seal(text, purpose)
  },
  open(sealed, purpose) {
    const key = keys.all().find(each => keyIdOf(each) === keyIdIn(sealed))
    return key === undefined ? null : sealing(key, 'cookies', noRandomness).open(sealed, purpose)
  },
})

/** Activates the first key of a store, or a replacement for a lost one. Another replica may still have the lost one. */
async function adopt(
  { keys, rings, clock, log }: KeyRingParts,
  ids: readonly string[],
  stored: KeyRingState | null,
): Promise<void> {
  // Texts of 0.1.0 were sealed with the oldest key.
  const [newest = '', oldest = newest] = [ids[0], ids.at(-1)]
  if (stored === null) {
    await rings.insert({ id: 'keys', version: 1, active: oldest, older: [], replicas: {} })
    return
  }
  if (keys.file === null && replicasWith(stored, stored.active, clock).length > 0) throw missing(stored.active)
  const older = stored.older.filter(id => id !== newest)
  const { ok } = await rings.replace({ ...stored, version: stored.version + 1, active: newest, older })
  // Otherwise a rotation has just removed that key.
  if (ok)
    log.error({ lost: stored.active, active: newest }, 'the secret key is lost: put it back, or set its secrets again')
}

const missing = (id: string): ProblemError =>
  new ProblemError(
    'secret_key_missing',
    `this API replica does not have the secret key ${id}, which is in use. Add it to LCM_SECRET_KEY and restart the replica`,
  )

/** Live replicas that hold a key, by id. */
export const replicasWith = ({ replicas }: KeyRingState, key: string, clock: Clock): string[] =>
  live(replicas, clock).flatMap(([id, { key_ids }]) => (key_ids.includes(key) ? [id] : []))

export const replicasWithout = ({ replicas }: KeyRingState, key: string, clock: Clock): string[] =>
  live(replicas, clock).flatMap(([id, { key_ids }]) => (key_ids.includes(key) ? [] : [id]))

const live = (replicas: KeyRingState['replicas'], clock: Clock) =>
  Object.entries(replicas).filter(([, { seen_at }]) => Math.abs(clock.now() - toMs(seen_at)) < SILENT_MS_MAX)

/** Reports the keys of this replica, so that a rotation knows whether every replica has the new one. */
export function keyReports(parts: KeyRingParts, ring: KeyRing): HostedService {
  const { rings, clock, log } = parts
  const replica = randomText(parts.randomBytes, 6)

  async function report(key_ids: readonly string[]): Promise<void> {
    const state = await ring.state()
    const others = Object.fromEntries(live(state.replicas, clock).filter(([id]) => id !== replica))
    const mine = { key_ids: [...key_ids], seen_at: toInstant(clock.now()) }
    const replicas = key_ids.length === 0 ? others : { ...others, [replica]: mine }
    const { ok } = await rings.replace({ ...state, version: state.version + 1, replicas })
    // Replicas start together, and a rotation must not miss one that lost to another.
    if (!ok) await report(key_ids)
  }

  return {
    name: 'key-reports',
    async run(signal) {
      while (!signal.aborted) {
        await report(ring.ids()).catch(err => log.error({ err }, 'could not report the secret keys; retrying'))
        await clock.sleep(REPORT_MS, signal)
      }
      await report([]).catch(() => undefined)
    },
  }
}
