import { type Client, isProblem, UnreachableError } from '@lcm/client/client'
import type { PersonRole } from '@lcm/domain/person'
import type { AccessRights, EndOutcome, Right } from '../invariants/access/access-rights.ts'
import type { SessionOwners } from '../invariants/access/session-owners.ts'
import type { World } from '../world/world.ts'
import type { Credential, Member } from './access-requests.ts'

interface Parts {
  readonly apis: World['apis']
  /** As an admin. */
  readonly admin: Client
  readonly rights: AccessRights
  readonly owners: SessionOwners
  readonly members: Member[]
}

const rightsOf = ({ credentials }: Member): readonly Right[] => credentials.map(({ right }) => right)
const tokensOf = ({ credentials }: Member) => credentials.filter(({ kind }) => kind === 'token')
/** Browser sessions and login links. */
const signInsOf = ({ credentials }: Member): readonly Right[] =>
  credentials.filter(({ kind }) => kind !== 'token').map(({ right }) => right)
const operatorsIn = (credentials: readonly Credential[]): Right[] =>
  credentials.flatMap(({ operator }) => operator ?? [])
const streamsIn = (credentials: readonly Credential[]): Right[] => credentials.flatMap(({ streams }) => streams)

/** Requests of an operator that end access. */
export function accessChanges({ apis, admin, rights, owners, members }: Parts) {
  const leave = (member: Member) => void members.splice(members.indexOf(member), 1)

  /** An attempt that a crash interrupted may have had a part of its effect. */
  async function end(member: Member, settle: (outcome: EndOutcome) => void, request: Promise<unknown>): Promise<void> {
    const kills = () => apis.reduce((sum, api) => sum + api.kills, 0)
    const before = kills()
    member.endings += 1
    try {
      await request
      settle('done')
    } catch (error) {
      settle(kills() === before && !(error instanceof UnreachableError) ? 'refused' : 'unknown')
      throw error
    } finally {
      member.endings -= 1
    }
  }

  return {
    revoke: (member: Member) =>
      end(
        member,
        rights.end(rightsOf(member), 'the revocation'),
        admin.call('revokePerson', { params: { id: member.id } }),
      ),
    async remove(member: Member): Promise<void> {
      const settle = rights.end(rightsOf(member), 'the removal of the person')
      await end(member, settle, admin.call('removePerson', { params: { id: member.id } }))
      leave(member)
    },
    async changeRole(member: Member, role: PersonRole): Promise<void> {
      // Other tokens permit as much as before.
      const ofOperator = member.credentials.filter(({ operator }) => operator !== null)
      const ended = [...signInsOf(member), ...operatorsIn(ofOperator), ...streamsIn(ofOperator)]
      const settle = rights.end(ended, 'the change of role')
      await end(member, settle, admin.call('patchPerson', { params: { id: member.id }, body: { role } }))
      member.role = role
      for (const credential of member.credentials) credential.operator = null
    },
    async removeToken(member: Member, { id, right }: Credential): Promise<void> {
      const settle = rights.end([right, ...signInsOf(member)], 'the deletion of the token')
      // The response to an earlier attempt may be lost.
      const request = admin.call('deleteToken', { params: { id } }).catch(error => {
        if (!isProblem(error, 'not_found')) throw error
      })
      await end(member, settle, request)
    },
    async merge(from: Member, into: Member): Promise<void> {
      owners.merged(from.id, into.id)
      const tokens = tokensOf(from)
      const lost = into.role === 'operator' ? [] : operatorsIn(tokens)
      const ended = rights.end([...signInsOf(from), ...streamsIn(tokens), ...lost], 'the merge')
      const suspended = rights.suspend(tokens.map(({ right }) => right))
      const settle = (outcome: EndOutcome) => {
        ended(outcome)
        suspended(outcome)
      }
      await end(from, settle, admin.call('mergePerson', { params: { id: from.id }, body: { into: into.id } }))
      from.mergedInto = into
      into.credentials.push(...tokens)
      leave(from)
    },
  }
}
