import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { afterSignIn, commonRole, isSignedOut, type Person, type ProviderProfile } from '@lcm/domain/person'
import type { Clock } from '@lcm/runtime/clock'
import { type Credentials, personKey } from './credentials.ts'
import type { IdentityProvider, ProviderPerson } from './identity-provider.ts'

/** Creates or updates the record of a person as the provider described it at `since`. */
export type RecordSignIn = (id: string, profile: ProviderProfile, since: Instant) => Promise<Person>

/** A person of the provider who is recorded here. */
export interface RecordedPerson {
  readonly actor: Actor
  /** Key of a sign-in of now. */
  readonly credential: string
}

/** A provider whose people are recorded. A record is written only when something changed. */
export function recordingProvider(
  provider: IdentityProvider<ProviderPerson>,
  parts: { readonly clock: Clock; readonly known: Credentials; readonly recordSignIn: RecordSignIn },
): IdentityProvider<RecordedPerson> {
  const { clock, known } = parts
  const now = () => toInstant(clock.now())

  /** The person of a token, from the cache if nothing is new. */
  async function personOf(token: string): Promise<RecordedPerson> {
    const reported = await provider.personOf(token)
    const before = await known.person(reported.id)
    if (before === null) return recorded(reported, reported.issuedAt)
    // First, because an old token may hold an old role.
    refuseSignedOut(before, reported.issuedAt)
    const isSame = afterSignIn(before, reported, reported.issuedAt) === before
    return isSame ? recordedPerson(before, reported) : recorded(reported, reported.issuedAt)
  }

  async function recorded({ id, issuedAt: _, ...profile }: ProviderPerson, since: Instant): Promise<RecordedPerson> {
    const person = await parts.recordSignIn(id, profile, since).finally(known.forget)
    refuseSignedOut(person, since)
    return recordedPerson(person, profile)
  }

  return {
    ...provider,
    personOf,
    async redeem(answer) {
      const since = now()
      const signedIn = await provider.redeem(answer)
      return { ...signedIn, person: await recorded(signedIn.person, since) }
    },
    async refresh(refreshToken, subject) {
      // As of the question: sign-ins that are ended before the answer stay ended. The provider's own clock may be late.
      const since = now()
      const answer = await provider.refresh(refreshToken, subject)
      if (answer.kind !== 'confirmed' || answer.person === null) return { ...answer, person: null }
      try {
        return { ...answer, person: await recorded(answer.person, since) }
      } catch (error) {
        if (error instanceof ProblemError && (error.code === 'person_merging' || error.code === 'unauthenticated'))
          return { kind: 'ended', because: error.message }
        throw error
      }
    },
  }
}

/** With no more than the role that the provider named: a token may be older than the record. */
const recordedPerson = (person: Person, { role }: ProviderProfile): RecordedPerson => ({
  actor: { id: person.id, name: person.name, role: commonRole(role, person.role), service: null },
  credential: personKey(person),
})

function refuseSignedOut(person: Person, since: Instant): void {
  const { name, merging_into } = person
  if (merging_into !== null) throw new ProblemError('person_merging', `${name} becomes part of ${merging_into}`)
  if (isSignedOut(person, since))
    throw new ProblemError('unauthenticated', `all sign-ins of ${name} were ended; sign in again`)
}
