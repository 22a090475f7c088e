import { describe, expect, it } from 'vitest'
import {
  afterSignIn,
  commonRole,
  isSignedOut,
  mayManage,
  PERSON_ROLES,
  type Person,
  PersonEmail,
  type PersonRole,
  refusalOfPatch,
} from './person.ts'

const JANE: Person = {
  id: 'oidc:jane',
  version: 1,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  name: 'Jane',
  email: 'jane@example.org',
  role: 'user',
  groups: ['networking-101'],
  source: 'provider',
  signed_out_at: null,
  merging_into: null,
}

it.each<[PersonRole, PersonRole, PersonRole]>([
  ['admin', 'admin', 'admin'],
  ['admin', 'operator', 'operator'],
  ['admin', 'user', 'user'],
  ['operator', 'operator', 'operator'],
  ['operator', 'author', 'user'],
  ['operator', 'user', 'user'],
  ['author', 'user', 'user'],
])('a token of role %s and a person of role %s permit what %s permits', (one, other, common) => {
  expect(commonRole(one, other)).toBe(common)
  expect(commonRole(other, one)).toBe(common)
})

describe('managing people', () => {
  const managed = (actor: 'admin' | 'operator' | 'author' | 'user' | 'controller') =>
    PERSON_ROLES.filter(role => mayManage({ role: actor }, [role]))

  it('is for admins, and for operators except admins and operators', () => {
    expect(managed('admin')).toEqual(PERSON_ROLES)
    expect(managed('operator')).toEqual(['author', 'user'])
    for (const role of ['author', 'user', 'controller'] as const) expect(managed(role)).toEqual([])
  })

  it('checks the role before and after a change', () => {
    expect(mayManage({ role: 'operator' }, ['user', 'author'])).toBe(true)
    expect(mayManage({ role: 'operator' }, ['user', 'operator'])).toBe(false)
    expect(mayManage({ role: 'operator' }, ['admin', 'user'])).toBe(false)
  })

  it('leaves people of the provider to the provider', () => {
    expect(refusalOfPatch(JANE, { role: 'admin' })).toBe('managed_by_provider')
    expect(refusalOfPatch({ source: 'operator' }, { role: 'admin', name: 'J' })).toBeNull()
  })

  it('can’t demote the last way in', () => {
    expect(refusalOfPatch({ source: 'built-in' }, { role: 'user' })).toBe('person_built_in')
    expect(refusalOfPatch({ source: 'built-in' }, { name: 'root' })).toBe('person_built_in')
    expect(refusalOfPatch({ source: 'built-in' }, { email: 'ops@example.org', groups: ['ops'] })).toBeNull()
  })
})

describe('a sign-in at the provider', () => {
  const { name, email, role, groups } = JANE

  it('changes nothing when the provider says the same', () => {
    expect(afterSignIn(JANE, { name, email, role, groups: [...groups] }, JANE.updated_at)).toBe(JANE)
  })

  it('updates name, email, role and groups', () => {
    const profile = { name: 'Jane Doe', email: null, role: 'operator', groups: [] } as const
    expect(afterSignIn(JANE, { ...profile, groups: [] }, JANE.updated_at)).toEqual({ ...JANE, ...profile })
  })

  it('from before the last change of the record changes nothing', () => {
    expect(afterSignIn(JANE, { name, email, role: 'admin', groups: [] }, '2025-12-31T23:59:59.999Z')).toBe(JANE)
  })

  it('before a sign-out must be repeated', () => {
    const signedOut = { signed_out_at: '2026-01-02T00:00:00.500Z' }
    expect(isSignedOut(signedOut, '2026-01-02T00:00:00.000Z')).toBe(true)
    expect(isSignedOut(signedOut, '2026-01-02T00:00:01.000Z')).toBe(false)
    expect(isSignedOut(JANE, '2026-01-02T00:00:00.000Z')).toBe(false)
  })
})

it.each([
  ['jane@example.org', true],
  ['jane', false],
  ['jane doe@example.org', false],
  ['jane@example.org\u0000', false],
  ['a@b@c', false],
])('an email address may be %j: %s', (text, isValid) => {
  expect(PersonEmail.safeParse(text).success).toBe(isValid)
})
