import { aDefinition } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { groupsOf } from './definition-groups.ts'

const LAB = { title: 'BGP basics', node_definitions_required: ['iol-xe'] }
const version = (definition_version: string, status: 'ACTIVE' | 'DEPRECATED' | 'PENDING_SYNC', name = 'bgp') =>
  aDefinition({ id: `${name} ${definition_version}`, name, definition_version, status, ...LAB })

describe('definitions', () => {
  it('are grouped by name: the newest bookable version, then the others newest first', () => {
    const [bgp, ospf, ...rest] = groupsOf([
      version('1.0.9', 'DEPRECATED'),
      version('1.0.0', 'DEPRECATED', 'ospf'),
      version('1.0.11', 'PENDING_SYNC'),
      version('1.0.10', 'ACTIVE'),
    ])
    expect(rest).toEqual([])
    expect([bgp?.name, bgp?.current.id]).toEqual(['bgp', 'bgp 1.0.10'])
    expect(bgp?.others.map(({ id }) => id)).toEqual(['bgp 1.0.11', 'bgp 1.0.9'])
    expect([ospf?.current.id, ospf?.others]).toEqual(['ospf 1.0.0', []])
  })
})
