import type { Person } from '@lcm/domain/person'
import { describe, expect, it } from 'vitest'
import { groupsIn, matching, PERSON_ACTIONS, refusalOf, rolesFor } from './person-list.ts'

const person = (changes: Partial<Person> = {}): Person => ({
  id: 'pe-1',
  version: 1,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  name: 'Ann',
  email: null,
  role: 'user',
  groups: [],
  source: 'operator',
  signed_out_at: null,
  merging_into: null,
  ...changes,
})
const offered = (changes: Partial<Person>, role: 'admin' | 'operator' = 'admin') =>
  PERSON_ACTIONS.filter(action => refusalOf(action, person(changes), { id: 'admin', role }) === null)

describe('the actions on a person', () => {
  it('are all offered to those who manage it', () => {
    expect(offered({})).toEqual(PERSON_ACTIONS)
    expect(offered({}, 'operator')).toEqual(PERSON_ACTIONS)
    expect(offered({ role: 'operator' })).toEqual(PERSON_ACTIONS)
    expect(offered({ role: 'operator' }, 'operator')).toEqual([])
  })

  it('leave people of the provider to the provider, and keep the last way in', () => {
    expect(offered({ source: 'provider' })).toEqual(['revoke', 'remove'])
    expect(offered({ source: 'built-in', role: 'admin' })).toEqual(['invite', 'revoke'])
    expect(offered({ merging_into: 'pe-2' })).toEqual(['revoke'])
  })

  it('offer no link to oneself, since a stolen session could renew itself with it', () => {
    expect(offered({ id: 'admin', source: 'built-in', role: 'admin' })).toEqual(['revoke'])
  })
})

it('operators give the roles author and user', () => {
  expect(rolesFor({ role: 'operator' })).toEqual(['author', 'user'])
  expect(rolesFor({ role: 'admin' })).toEqual(['admin', 'operator', 'author', 'user'])
})

it('groups are separated by commas', () => {
  expect(groupsIn(' bgp 101, ospf,, bgp 101 ,')).toEqual(['bgp 101', 'ospf'])
  expect(groupsIn(' ')).toEqual([])
})

it('a search finds all words anywhere, sorted by name', () => {
  const people = [
    person({ name: 'Bob', groups: ['bgp'] }),
    person({ email: 'ann@example.org' }),
    person({ name: 'Al' }),
  ]
  const names = (search: string) => matching(people, search).map(({ name }) => name)
  expect(names('')).toEqual(['Al', 'Ann', 'Bob'])
  expect(names('USER bgp')).toEqual(['Bob'])
  expect(names('example.org')).toEqual(['Ann'])
  expect(names('nothing')).toEqual([])
})
