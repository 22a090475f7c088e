import { aTopology } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { NODE_NEEDS } from './node-needs.ts'
import { bootSecondsOf, NODES_MAX, needsOf, nodeDefinitionsOf, TOPOLOGY_VERSIONS, Topology } from './topology.ts'

const interfaces = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `i${n}`, label: `port${n}`, slot: n, type: 'physical' }))

/** An export of CML 2.4, with zeros for unset values. */
const CAMPUS = {
  lab: { description: '', notes: '', title: 'Campus', version: '0.1.0' },
  links: [{ id: 'l0', n1: 'n1', n2: 'n0', i1: 'i1', i2: 'i0', label: 'edge<->Lab Net' }],
  nodes: [
    {
      ...{ boot_disk_size: 0, configuration: 'bridge0', cpu_limit: 100, cpus: 0, data_volume: 0, hide_links: false },
      ...{ id: 'n0', label: 'Lab Net', node_definition: 'external_connector', ram: 0, tags: [], x: -400, y: 0 },
      interfaces: interfaces(1),
    },
    {
      ...{ boot_disk_size: 0, configuration: 'hostname edge', cpu_limit: 100, cpus: 0, data_volume: 0, ram: 0 },
      ...{ id: 'n1', label: 'edge', node_definition: 'iosxrv9000', tags: ['serial:5000'], x: 0, y: 0 },
      interfaces: interfaces(2),
    },
    { id: 'n2', label: 'access', node_definition: 'unmanaged_switch', x: 1, y: 1, interfaces: interfaces(8) },
    { id: 'n3', label: 'pc', node_definition: 'alpine', x: 1, y: 1, ram: null, cpus: null, tags: null },
  ],
}

describe('a topology', () => {
  it('is accepted as CML exports it, and keeps every field', () => {
    expect(Topology.parse(CAMPUS)).toEqual(CAMPUS)
  })

  it.each(TOPOLOGY_VERSIONS)('may be of version %s', version => {
    expect(aTopology([{}], { lab: { version } }).lab.version).toBe(version)
  })

  const refused = (lab: unknown) =>
    Topology.safeParse(lab).error?.issues.map(issue => [issue.path.join('.'), issue.message])

  it('is refused when it comes from a newer CML', () => {
    expect(refused({ ...CAMPUS, lab: { version: '0.4.0' } })).toEqual([
      ['lab.version', 'one of 0.0.1, 0.0.2, 0.0.3, 0.0.4, 0.0.5, 0.1.0, 0.2.0, 0.2.1, 0.2.2, 0.3.0, 0.3.1'],
    ])
  })

  it.each<[string, object, [string, string | RegExp]]>([
    ['no nodes', { nodes: [], links: [] }, ['nodes', 'a lab needs at least one node']],
    [
      'too many nodes',
      {
        nodes: Array.from({ length: NODES_MAX + 1 }, (_, n) => ({
          id: `${n}`,
          label: `${n}`,
          node_definition: 'iosv',
        })),
      },
      ['nodes', /300/],
    ],
    [
      'a duplicate id',
      {
        nodes: [
          { id: 'n0', label: 'a', node_definition: 'iosv' },
          { id: 'n0', label: 'b', node_definition: 'iosv' },
        ],
      },
      ['nodes.1', 'id n0 is that of node 0 too'],
    ],
    [
      'a duplicate label',
      {
        nodes: [
          { id: 'n0', label: 'a', node_definition: 'iosv' },
          { id: 'n1', label: 'a', node_definition: 'iosv' },
        ],
      },
      ['nodes.1', 'label a is that of node 0 too'],
    ],
    [
      'a link to a missing node',
      {
        nodes: [{ id: 'n0', label: 'a', node_definition: 'iosv' }],
        links: [{ id: 'l', n1: 'n0', n2: 'n9', i1: 'i0', i2: 'i0' }],
      },
      ['links.0', 'there is no node n9'],
    ],
    ['a node without a definition', { nodes: [{ id: 'n0', label: 'a' }] }, ['nodes.0.node_definition', /string/]],
    [
      'a tag that is too long',
      { nodes: [{ id: 'n0', label: 'a', node_definition: 'iosv', tags: ['x'.repeat(65)] }] },
      ['nodes.0.tags.0', /64/],
    ],
    [
      'more memory than any machine has',
      { nodes: [{ id: 'n0', label: 'a', node_definition: 'iosv', ram: 2_000_000 }] },
      ['nodes.0.ram', /1048576/],
    ],
  ])('is refused with %s, with the path', (_, more, [path, message]) => {
    const issues = refused({ lab: { version: '0.3.0' }, links: [], ...more }) ?? []
    expect(issues).toContainEqual([path, expect.stringMatching(message)])
  })
})

describe('needs', () => {
  it('default to those of the node definitions, and are zero for nodes that run nothing', () => {
    expect(needsOf(Topology.parse(CAMPUS))).toEqual({ cpu_cores: 5, memory_gb: 20.5, storage_gb: 2, node_count: 2 })
  })

  it('are those of the node when it has its own', () => {
    const lab = aTopology([{ cpus: 4, ram: 6144, data_volume: 20, boot_disk_size: 30 }, { ram: 700 }])
    expect(needsOf(lab)).toEqual({ cpu_cores: 5, memory_gb: 6.69, storage_gb: 52, node_count: 2 })
  })

  it('of a small SD-WAN exceed a machine of 32 GB', () => {
    const kinds = ['manager', 'controller', 'validator', 'edge', 'edge'].map(kind => `cat-sdwan-${kind}`)
    const lab = aTopology(kinds.map(node_definition => ({ node_definition })))
    expect(needsOf(lab)).toMatchObject({ cpu_cores: 16, memory_gb: 50, node_count: 5 })
  })

  it('of an unknown node definition are estimated, never zero', () => {
    expect(needsOf(aTopology([{ node_definition: 'my-own-router' }]))).toEqual({
      cpu_cores: 1,
      memory_gb: 2,
      storage_gb: 1,
      node_count: 1,
    })
  })

  it('are known for every node definition that runs something', () => {
    for (const [name, { cpus, ram_mib, counts }] of NODE_NEEDS) expect(cpus > 0 && ram_mib > 0, name).toBe(counts)
  })
})

it('names each node definition once, in order', () => {
  const lab = aTopology([{ node_definition: 'iosv' }, { node_definition: 'alpine' }, { node_definition: 'iosv' }])
  expect(nodeDefinitionsOf(lab)).toEqual(['alpine', 'iosv'])
})

describe('the boot time', () => {
  it.each([
    [
      'is that of the slowest node definition',
      [{}, { node_definition: 'iosxrv9000' }, { node_definition: 'frr' }],
      1000,
    ],
    ['is longer with a CPU limit', [{ node_definition: 'ise', cpu_limit: 40 }], 9000],
    ['ignores a CPU limit of 0', [{ node_definition: 'ise', cpu_limit: 0 }], 3600],
    ['is estimated for an unknown node definition', [{ node_definition: 'my-own-router' }], 300],
  ])('%s', (_, nodes, seconds) => {
    expect(bootSecondsOf(aTopology(nodes))).toBe(seconds)
  })
})
