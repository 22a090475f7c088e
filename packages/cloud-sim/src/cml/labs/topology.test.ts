import { describe, expect, it } from 'vitest'
import { CmlRefusal } from '../http-messages.ts'
import { topologyIn } from './topology.ts'

const TWO_NODES = `
lab: {version: 0.3.0, title: two}
nodes:
  - {id: n0, label: a, node_definition: alpine, x: 0, y: 0, interfaces: [{id: i0, type: physical, slot: 0}]}
  - {id: n1, label: b, node_definition: alpine, x: 1, y: 0, interfaces: [{id: i0, type: physical}], tags: ["serial:2001"]}
links:
  - {id: l0, n1: n0, i1: i0, n2: n1, i2: i0}
`

const refused = (source: string, minor = 9): string => {
  try {
    topologyIn(source, minor)
  } catch (error) {
    if (error instanceof CmlRefusal && error.status === 400) return error.message
    throw error
  }
  return 'taken'
}

describe('a topology', () => {
  it('is read from YAML and from JSON alike', () => {
    const fromYaml = topologyIn(TWO_NODES, 9)
    expect(fromYaml.nodes.map(node => node.label)).toEqual(['a', 'b'])
    expect(topologyIn(JSON.stringify(fromYaml), 9)).toEqual(fromYaml)
  })

  it.each([
    ['an unknown version', TWO_NODES.replace('0.3.0', '0.4.0'), /version.*enum/],
    ['no version', TWO_NODES.replace('version: 0.3.0, ', ''), /version.*missing/],
    ['no links', TWO_NODES.replace('links:', 'annotations:').replaceAll(/- \{id: l0.*/g, ''), /links.*missing/],
    ['an unknown member', `${TWO_NODES}\nfoo: 1`, /foo.*extra_forbidden/],
    ['an unknown member of a node', TWO_NODES.replace('label: a,', 'label: a, color: red,'), /color/],
    ['a node without a label', TWO_NODES.replace('label: a, ', ''), /label.*missing/],
    ['a number out of range', TWO_NODES.replace('x: 0,', 'x: 20000,'), /int_range/],
    ['an id twice', TWO_NODES.replace('id: n1', 'id: n0'), /twice/],
    ['a link to nowhere', TWO_NODES.replace('n2: n1', 'n2: n7'), /ends nowhere/],
    ['broken YAML', 'lab: [', /not valid YAML/],
    ['plain words', 'hello', /mapping/],
    ['nothing', '', /mapping/],
    ['lists that never end', '['.repeat(100_000), /nested too deeply/],
    ['lists within lists', `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`, /nested too deeply/],
    ['dashes within dashes', `${'- '.repeat(20_000)}x`, /nested too deeply/],
    ['JSON that nests', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`, /extra_forbidden|nested|missing/],
  ])('is refused with %s', (_name, source, words) => {
    expect(refused(source)).toMatch(words)
  })

  it('of 2.10 is refused before 2.10', () => {
    const later = TWO_NODES.replace('0.3.0', '0.3.1')
    expect(refused(later, 9)).toMatch(/0\.3\.0/)
    expect(refused(later, 10)).toBe('taken')
  })

  it("doesn't expand references to itself", () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((name, n) => {
        const before = 'abcdefgh'.charAt(n)
        return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(',')}]`
      }),
    ].join('\n')
    expect(refused(bomb)).toMatch(/alias/)
  })

  it("can't change object prototypes", () => {
    expect(refused('{"__proto__": {"polluted": true}, "lab": 1}')).toMatch(/__proto__/)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})
