import { expect, it } from 'vitest'
import { roleIn } from './identity-provider.ts'

it.each([
  [{ roles: 'operator' }, 'roles', 'operator'],
  [{ roles: ['user', 'admin', 'author'] }, 'roles', 'admin'],
  [{ roles: ['user', 'author'] }, 'roles', 'author'],
  [{ roles: ['offline_access', 'user'] }, 'roles', 'user'],
  [{ realm_access: { roles: ['operator'] } }, 'realm_access.roles', 'operator'],
  [{ 'https://lcm.example/roles': ['user'] }, 'https://lcm.example/roles', 'user'],
  [{ roles: ['controller'] }, 'roles', null],
  [{ roles: 'controller' }, 'roles', null],
  [{ roles: ['Admin', 'admin '] }, 'roles', null],
  [{ roles: 'admin user' }, 'roles', null],
  [{ roles: { admin: true } }, 'roles', null],
  [{ roles: [['admin']] }, 'roles', null],
  [{ roles: null }, 'roles.admin', null],
  [{}, 'roles', null],
  [{}, 'constructor.name', null],
  [{}, '__proto__', null],
])('finds in %j at %s the role %s', (claims, path, role) => {
  expect(roleIn(claims, path)).toBe(role)
})
