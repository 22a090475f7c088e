import { type Actor, ROLES, type Role } from '@lcm/domain/actor'
import { expect, it } from 'vitest'
import { mayModify, mayView } from './route-spec.ts'

const anActor = (role: Role, id = 'token:one'): Actor => ({ id, name: 'one', role, service: null })

it.each(ROLES)('lets %s modify its own resources', role => {
  expect(mayModify(anActor(role), 'token:one')).toBe(true)
})

it.each([
  ['admin', true],
  ['operator', true],
  ['author', false],
  ['user', false],
  ['controller', false],
] as const)('whether %s may modify resources of others: %s', (role, allowed) => {
  expect(mayModify(anActor(role), 'token:other')).toBe(allowed)
})

it('compares ids, not names', () => {
  expect(mayModify({ ...anActor('user'), name: 'token:other' }, 'token:other')).toBe(false)
})

it.each([
  ['admin', true],
  ['operator', true],
  ['author', false],
  ['user', false],
  ['controller', true],
] as const)('whether %s may view resources of others: %s', (role, allowed) => {
  expect(mayView(anActor(role), 'token:other')).toBe(allowed)
})
