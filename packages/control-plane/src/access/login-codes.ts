import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection } from '@lcm/store/store'
import { idOfSecret, randomText } from '../crypto.ts'
import type { LoginCode } from '../internal-documents.ts'
import { listAll } from '../resources/list-documents.ts'
import type { AccessAudit } from './access-audit.ts'
import type { Credentials } from './credentials.ts'
import type { RequestOrigin } from './request-origin.ts'

export const LOGIN_CODE_MS = 10 * 60_000
/** Per actor. */
const LOGIN_CODES_MAX = 100
const CODE_BYTES = 24
const CODE = /^[\w-]{32}$/

export const SIGN_IN_PAGE = '/#/sign-in'
/** A fragment reaches no server, so the code is in no log and no referrer. */
export const loginLinkOf = (code: string): string => `${SIGN_IN_PAGE}?code=${code}`

export interface LoginCodes {
  /** `invitation`: another actor made it, whose audit entry is written already. */
  create(actor: Actor, origin: RequestOrigin | null, proof: 'token' | 'invitation'): Promise<string>
  /**
   * Actor of the code, and the key of its sign-ins when the code was made. Of any number of callers on any replica one succeeds;
   * the others are refused.
   */
  spend(code: string): Promise<{ readonly actor: Actor; readonly credential: string }>
}

export function loginCodes(options: {
  clock: Clock
  randomBytes: (size: number) => Uint8Array
  codes: Collection<LoginCode>
  audit: AccessAudit
  known: Pick<Credentials, 'newKeyOf'>
}): LoginCodes {
  const { clock, codes, audit } = options

  /** Removes expired codes, and the oldest of an actor that has too many. Codes of other actors stay. */
  async function removeOld(actorId: string): Promise<void> {
    const oldestFirst = (await listAll(codes)).toSorted((a, b) => a.expires_at.localeCompare(b.expires_at))
    const own = oldestFirst.filter(code => code.actor_id === actorId)
    const tooMany = new Set(own.slice(0, Math.max(0, own.length - (LOGIN_CODES_MAX - 1))))
    const now = clock.now()
    await Promise.all(
      oldestFirst.filter(code => tooMany.has(code) || isExpired(code, now)).map(code => codes.remove(code)),
    )
  }

  return {
    async create(actor, origin, proof) {
      if (actor.role === 'controller') throw new ProblemError('forbidden', 'a controller has no use for a browser')
      // Login links would prolong a role that the provider has revoked.
      if (actor.id.startsWith('oidc:'))
        throw new ProblemError(
          'forbidden',
          `${actor.name} is known by the identity provider; sign in in the browser instead`,
        )
      const credential = await options.known.newKeyOf(actor.id, proof)
      if (credential === null) throw noLongerKnown(actor)
      await removeOld(actor.id)
      const code = randomText(options.randomBytes, CODE_BYTES)
      const expires_at = toInstant(clock.now() + LOGIN_CODE_MS)
      const result = await codes.insert(
        {
          id: idOfSecret(code),
          version: 1,
          expires_at,
          actor_id: actor.id,
          actor_name: actor.name,
          actor_role: actor.role,
          actor_expires_at: actor.expires_at ?? null,
          credential,
        },
        proof === 'invitation' ? [] : [audit.entry(actor, 'login-link', { origin, facts: { expires_at } })],
      )
      if (!result.ok) throw new ProblemError('store_unavailable', 'the new code was taken; try again')
      return code
    },
    async spend(code) {
      const known = CODE.test(code) ? await codes.get(idOfSecret(code)) : null
      const isMine = known !== null && (await codes.remove(known)).ok
      if (known === null || !isMine || isExpired(known, clock.now())) throw invalidCode()
      const { actor_id: id, actor_name: name, actor_role: role, actor_expires_at, credential } = known
      const actor: Actor = { id, name, role, service: null }
      return { actor: actor_expires_at === null ? actor : { ...actor, expires_at: actor_expires_at }, credential }
    },
  }
}

const isExpired = ({ expires_at }: LoginCode, nowMs: number): boolean => toMs(expires_at) < nowMs

export const noLongerKnown = ({ name }: Actor): ProblemError =>
  new ProblemError('unauthenticated', `${name} is no longer known here`)

export const invalidCode = () =>
  new ProblemError('login_code_invalid', 'each link works once and for ten minutes; make a new one with: lcm open')
