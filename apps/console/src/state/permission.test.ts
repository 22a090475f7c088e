import { ROLES, type Role } from '@lcm/domain/actor'
import { describe, expect, it } from 'vitest'
import type { Info } from './live-state.ts'
import { isAllowed } from './permission.ts'

const infoFor = (role: Role): Info => ({
  version: '0.1.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: [],
  sim_control: null,
  actor: { id: 'ann', name: 'Ann', role },
})

describe('permission', () => {
  it('follows the contract', () => {
    expect(ROLES.filter(role => isAllowed(infoFor(role), 'stopWorker'))).toEqual(['admin', 'operator'])
  })

  it('is denied before the user is known', () => {
    expect(isAllowed(null, 'listWorkers')).toBe(false)
  })
})
