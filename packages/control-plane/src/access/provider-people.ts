import { ProblemError } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { afterSignIn, isSignedOut, type Person, type ProviderProfile } from '@lcm/domain/person'
import type { Clock } from '@lcm/runtime/clock'
import type { Credentials } from './credentials.ts'
import type { IdentityProvider, ProviderPerson } from './identity-provider.ts'

/** Creates or updates the record of a person who signed in. */
export type RecordSignIn = (id: string, profile: ProviderProfile) => Promise<Person>

/** A provider whose people are recorded. A record is written only when something changed. */
export function recordingProvider(
  provider: IdentityProvider<ProviderPerson>,
  parts: { readonly clock: Clock; readonly known: Credentials; readonly recordSignIn: RecordSignIn },
): IdentityProvider {
  const { clock, known } = parts

  async function recorded({ id, issuedAt, ...profile }: ProviderPerson): Promise<Actor> {
    const before = await known.person(id)
    // First, because an old token may hold an old role.
    if (before !== null) refuseSignedOut(before, issuedAt)
    const isSame = before !== null && afterSignIn(before, profile) === before
    const person = isSame ? before : await parts.recordSignIn(id, profile).finally(known.forget)
    if (!isSame) refuseSignedOut(person, issuedAt)
    return { id, name: person.name, role: person.role, service: null }
  }

  /** The provider has just named this person; its own clock may be late. */
  const recordedNow = (person: ProviderPerson) => recorded({ ...person, issuedAt: toInstant(clock.now()) })

  return {
    ...provider,
    personOf: async token => recorded(await provider.personOf(token)),
    async redeem(answer) {
      const signedIn = await provider.redeem(answer)
      return { ...signedIn, person: await recordedNow(signedIn.person) }
    },
    async refresh(refreshToken, subject) {
      const answer = await provider.refresh(refreshToken, subject)
      if (answer.kind !== 'confirmed' || answer.person === null) return { ...answer, person: null }
      try {
        return { ...answer, person: await recordedNow(answer.person) }
      } catch (error) {
        if (error instanceof ProblemError && error.code === 'person_merging')
          return { kind: 'ended', because: error.message }
        throw error
      }
    },
  }
}

function refuseSignedOut(person: Person, issuedAt: Instant): void {
  const { name, merging_into } = person
  if (merging_into !== null) throw new ProblemError('person_merging', `${name} becomes part of ${merging_into}`)
  if (isSignedOut(person, issuedAt))
    throw new ProblemError('unauthenticated', `all sign-ins of ${name} were ended; sign in again`)
}
