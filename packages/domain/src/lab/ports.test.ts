import { aTopology } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  allocatePorts,
  PORT_POOL,
  PortWish,
  portsInTags,
  portsOf,
  strayWishes,
  tagsWithPorts,
  withPorts,
} from './ports.ts'

const tagged = (...tags: string[]) => aTopology([{ label: 'R1', tags }])
const wish = (name: string, more: Partial<PortWish> = {}): PortWish => ({
  name,
  node: 'R1',
  protocol: 'serial',
  inside: 0,
  ...more,
})

describe('tags', () => {
  it.each<[string, Omit<PortWish, 'node'>]>([
    ['serial:5000', { name: 'R1_serial', protocol: 'serial', inside: 0 }],
    ['serial:5000:0', { name: 'R1_serial', protocol: 'serial', inside: 0 }],
    ['serial:5000:1', { name: 'R1_serial_1', protocol: 'serial', inside: 1 }],
    ['vnc:5001', { name: 'R1_vnc', protocol: 'vnc', inside: null }],
    ['pat:8080:80', { name: 'R1_tcp_80', protocol: 'tcp', inside: 80 }],
    ['pat:tcp:8080:80', { name: 'R1_tcp_80', protocol: 'tcp', inside: 80 }],
    ['pat:udp:5353:53', { name: 'R1_udp_53', protocol: 'udp', inside: 53 }],
  ])('%s requests a port', (tag, expected) => {
    expect(portsOf(tagged(tag))).toEqual([{ node: 'R1', ...expected }])
  })

  it.each([
    'core',
    'serial',
    'serial:',
    'serial:abc',
    'vnc:5001:1',
    'pat:80',
    'pat:icmp:1:2',
    'pat:tcp:8080:70000',
    'pat:tcp:8080:0',
    'ansible:ansible_port=22',
    ' serial:5000',
  ])('%s requests no port, so that the console of the node is published', tag => {
    expect(portsOf(tagged(tag))).toEqual([wish('R1_serial')])
  })

  it('that are repeated request one port', () => {
    expect(portsOf(tagged('serial:5000', 'serial:6000', 'pat:1:80', 'pat:tcp:2:80'))).toHaveLength(2)
  })

  it('of nodes whose labels give the same port name get different names', () => {
    const lab = aTopology([
      { label: 'R 1', tags: ['serial:1'] },
      { label: 'R_1', tags: ['serial:1'] },
      { label: 'R/1', tags: ['serial:1'] },
    ])
    expect(portsOf(lab).map(({ name, node }) => [name, node])).toEqual([
      ['R_1_serial', 'R 1'],
      ['R_1_serial_2', 'R_1'],
      ['R_1_serial_3', 'R/1'],
    ])
  })

  it('of a node with the longest label give valid port names', () => {
    const lab = aTopology([
      { label: 'x'.repeat(128), tags: ['serial:1', 'pat:tcp:1:65535'] },
      { label: `y${'x'.repeat(127)}`, tags: ['serial:1'] },
    ])
    const wishes = portsOf(lab)
    expect(wishes.map(each => PortWish.parse(each))).toEqual(wishes)
    expect(new Set(wishes.map(({ name }) => name)).size).toBe(3)
  })

  it('name the outside ports that they use', () => {
    const tags = ['serial:2000', 'serial:2001:1', 'vnc:2002', 'pat:2003:22', 'pat:udp:2004:53', 'core', 'pat:x:1']
    expect(portsInTags(tags)).toEqual([2000, 2001, 2002, 2003, 2004])
  })
})

describe('a lab without tags for ports', () => {
  const lab = (...nodes: [label: string, node_definition: string, ...tags: string[]][]) =>
    aTopology(nodes.map(([label, node_definition, ...tags]) => ({ label, node_definition, tags })))

  it('publishes the consoles of all nodes that have one', () => {
    const nodes = lab(['R1', 'iosv'], ['SW', 'unmanaged_switch'], ['Net', 'external_connector'], ['PC', 'desktop'])
    expect(portsOf(nodes)).toEqual([
      wish('R1_serial'),
      wish('PC_serial', { node: 'PC' }),
      wish('PC_vnc', { node: 'PC', protocol: 'vnc', inside: null }),
    ])
  })

  it('expects a serial line from a node definition that it does not know', () => {
    expect(portsOf(lab(['R1', 'our-own-router', 'core']))).toEqual([wish('R1_serial')])
  })

  it('publishes nothing else once one node has such a tag', () => {
    expect(portsOf(lab(['R1', 'iosv'], ['R2', 'iosv', 'pat:8080:80'])).map(({ name }) => name)).toEqual(['R2_tcp_80'])
  })
})

it.each([
  ['tcp', null, false],
  ['udp', 0, false],
  ['tcp', 22, true],
  ['serial', null, true],
  ['vnc', null, true],
])('a request for %s with the inside port %s is accepted: %s', (protocol, inside, isTaken) => {
  expect(PortWish.safeParse({ name: 'a', node: 'R1', protocol, inside }).success).toBe(isTaken)
})

describe('requests for missing nodes', () => {
  const lab = (count: number) => aTopology(Array.from({ length: count }, (_, n) => ({ label: `R${n + 1}` })))

  it('are reported with the existing nodes', () => {
    const wishes = [wish('a'), wish('b', { node: 'r1' })]
    expect(strayWishes(wishes, lab(2))).toEqual([{ index: 1, message: 'the lab has no node r1; it has R1, R2' }])
  })

  it('name ten of many nodes', () => {
    const [stray] = strayWishes([wish('a', { node: 'x' })], lab(12))
    expect(stray?.message).toMatch(/it has R1, .*, R10 and 2 more$/)
  })

  it('never come from the lab’s own tags', () => {
    expect(strayWishes(portsOf(tagged('serial:5000')), tagged('serial:5000'))).toEqual([])
  })
})

describe('rewriting', () => {
  const wishes = [
    wish('line0'),
    wish('line1', { inside: 1 }),
    wish('screen', { protocol: 'vnc', inside: null }),
    wish('web', { protocol: 'tcp', inside: 80 }),
    wish('dns', { protocol: 'udp', inside: 53 }),
    wish('other', { node: 'R2' }),
  ]
  const ports = { line0: 2000, line1: 2001, screen: 2002, web: 2003, dns: 2004, other: 2005 }
  const ours = ['serial:2000', 'serial:2001:1', 'vnc:2002', 'pat:tcp:2003:80', 'pat:udp:2004:53']

  it('replaces the ports of the author by the allocated ones', () => {
    expect(tagsWithPorts('R1', ['serial:9', 'pat:1:80'], wishes, ports)).toEqual(ours)
  })

  it('D-29: keeps tags that mean something else', () => {
    expect(tagsWithPorts('R1', ['core', 'serial:9', 'ansible:x=1'], wishes, ports)).toEqual([
      'core',
      'ansible:x=1',
      ...ours,
    ])
  })

  it('changes nothing the second time', () => {
    const once = tagsWithPorts('R1', ['core', 'serial:9'], wishes, ports)
    expect(tagsWithPorts('R1', once, wishes, ports)).toEqual(once)
  })

  it('leaves out tags without an allocated port', () => {
    expect(tagsWithPorts('R1', [], wishes, { web: 2003 })).toEqual(['pat:tcp:2003:80'])
  })

  it('changes only tags and their annotations', () => {
    const lab = aTopology([{ label: 'R1', tags: ['serial:9', 'core'], ram: 512 }, { label: 'R2' }], {
      smart_annotations: [
        { tag: 'serial:9', label: 'serial:9' },
        { tag: 'core', label: 'Core' },
      ],
      annotations: [{ type: 'text' }],
    })
    const [first, second] = lab.nodes
    expect(withPorts(lab, [wish('line0')], { line0: 2000 })).toEqual({
      ...lab,
      nodes: [
        { ...first, tags: ['core', 'serial:2000'] },
        { ...second, tags: [] },
      ],
      smart_annotations: [{ tag: 'core', label: 'Core' }],
    })
    expect(withPorts(aTopology(), [], {})).not.toHaveProperty('smart_annotations')
  })
})

describe('allocating ports', () => {
  const wishes = [wish('a'), wish('b'), wish('c')]

  it('begins with the lowest free port', () => {
    expect(allocatePorts(wishes, {}, new Set([2000, 2002]))).toEqual({ a: 2001, b: 2003, c: 2004 })
  })

  it('returns the same ports to a lab that has them', () => {
    const held = allocatePorts(wishes, {}, new Set([2000])) ?? {}
    expect(allocatePorts(wishes, held, new Set([2000, ...Object.values(held)]))).toEqual(held)
    expect(allocatePorts(wishes, held, new Set())).toEqual(held)
  })

  it('gives a new request no port that the same lab already has', () => {
    expect(allocatePorts(wishes, { b: 2000 }, new Set())).toEqual({ a: 2001, b: 2000, c: 2002 })
  })

  it('allocates the last port, and none beyond it', () => {
    const all = Array.from({ length: PORT_POOL.to - PORT_POOL.from + 1 }, (_, n) => PORT_POOL.from + n)
    expect(allocatePorts([wish('a')], {}, new Set(all.slice(0, -1)))).toEqual({ a: PORT_POOL.to })
    expect(allocatePorts([wish('a')], {}, new Set(all))).toBeNull()
    expect(allocatePorts([wish('a'), wish('b')], {}, new Set(all.slice(0, -1)))).toBeNull()
    expect(allocatePorts([wish('a')], { a: 2000 }, new Set(all))).toEqual({ a: 2000 })
  })

  it('D-9: never allocates a port twice on a worker, whichever labs come and go', () => {
    const lab = fc.record({
      id: fc.integer({ min: 0, max: 5 }),
      ports: fc.integer({ min: 0, max: 6 }),
      leaves: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(lab, { maxLength: 30 }),
        fc.uniqueArray(fc.integer({ min: 2000, max: 2030 })),
        (labs, foreign) => {
          const worker = new Map<number, Record<string, number>>()
          for (const { id, ports, leaves } of labs) {
            if (leaves) worker.delete(id)
            else {
              const others = [...worker].flatMap(([owner, given]) => (owner === id ? [] : Object.values(given)))
              const wanted = Array.from({ length: ports }, (_, n) => wish(`p${n}`))
              const given = allocatePorts(wanted, worker.get(id) ?? {}, new Set([...others, ...foreign]))
              worker.set(id, { ...worker.get(id), ...given })
            }
            const all = [...worker.values()].flatMap(given => Object.values(given))
            expect(new Set([...all, ...foreign]).size).toBe(all.length + foreign.length)
          }
        },
      ),
    )
  })
})
