import { aDefinition } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { definitionsHash, filterOf, matches, NO_FILTER } from './definition-filter.ts'
import { groupsOf } from './definition-groups.ts'

const LAB = { title: 'BGP basics', node_definitions_required: ['iol-xe'] }
const version = (definition_version: string, status: 'ACTIVE' | 'DEPRECATED' | 'PENDING_SYNC', name = 'bgp') =>
  aDefinition({ id: `${name} ${definition_version}`, name, definition_version, status, ...LAB })

describe('definitions', () => {
  it('are found by name, title and kind of node, and by a status that any version has', () => {
    const [group] = groupsOf([version('1.0.1', 'ACTIVE'), version('1.0.0', 'DEPRECATED')])
    if (group === undefined) throw new Error('no group')
    const found = (filter: Partial<typeof NO_FILTER>) => matches(group, { ...NO_FILTER, ...filter })
    expect(['bG', 'basics', 'iol', ''].map(text => found({ text }))).toEqual([true, true, true, true])
    expect(found({ text: 'ospf' })).toBe(false)
    expect(found({ status: 'DEPRECATED' })).toBe(true)
    expect(found({ status: 'PENDING_SYNC' })).toBe(false)
  })

  it('keep the filter in the address', () => {
    const filter = filterOf({ q: 'a b', status: 'ACTIVE' })
    expect(definitionsHash(filter)).toBe('#/definitions?q=a+b&status=ACTIVE')
    expect(filterOf({ status: 'NONSENSE' })).toEqual(NO_FILTER)
  })
})
