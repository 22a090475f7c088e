import { type Actor, ROLES, type Role } from '@lcm/domain/actor'
import { expect, it } from 'vitest'
import { maySee, mayTouch } from './access.ts'

const anActor = (role: Role, id = 'token:one'): Actor => ({ id, name: 'one', role, service: null })

it.each(ROLES)('lets %s touch what is their own', role => {
  expect(mayTouch(anActor(role), 'token:one')).toBe(true)
})

it.each([
  ['admin', true],
  ['operator', true],
  ['author', false],
  ['user', false],
  ['controller', false],
] as const)('whether %s may touch what belongs to another: %s', (role, allowed) => {
  expect(mayTouch(anActor(role), 'token:other')).toBe(allowed)
})

it('asks who somebody is, not what they are called', () => {
  expect(mayTouch({ ...anActor('user'), name: 'token:other' }, 'token:other')).toBe(false)
})

it.each([
  ['admin', true],
  ['operator', true],
  ['author', false],
  ['user', false],
  ['controller', true],
] as const)('whether %s may see what belongs to another: %s', (role, allowed) => {
  expect(maySee(anActor(role), 'token:other')).toBe(allowed)
})
