import { addedNodes, PortWish } from '@lcm/domain/lab/ports'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { savedTopology } from './saved-topology.ts'

const serial = (node: string) => PortWish.parse({ name: `${node}_serial`, node, protocol: 'serial', inside: 0 })
const vnc = (node: string) => PortWish.parse({ name: `${node}_vnc`, node, protocol: 'vnc' })
const restored = (nodes: string, template: readonly PortWish[] = [], ports: Record<string, number> = {}) =>
  savedTopology(`lab: {version: 0.3.0}\nnodes:\n${nodes}links: []\n`, template, ports, async () => undefined)

it.each(['1e3', '0x10', 'yes', '0o14', '12_000', '1.0', 'null', '~', '-1', '+.5', '.inf', "'1e3'", '"007"', "'yes'"])(
  'a label that CML wrote as %s stays that text',
  async label => {
    const { topology, labels } = await restored(`  - {id: n0, label: ${label}, tags: [core], ram: 2048}\n`)
    const bare = label.replaceAll(/['"]/g, '')
    expect(labels).toEqual([bare])
    expect(topology).toContain(
      `"label": ${bare === label ? label : JSON.stringify(bare)}, "tags": ["core"], "ram": 2048`,
    )
  },
)

it('a node that its learner renamed keeps its port, and one that was added is named', async () => {
  const template = [serial('r1'), serial('r2'), serial('r3'), vnc('pc')]
  const ports = { r1_serial: 2001, r2_serial: 2002, r3_serial: 2003, pc_vnc: 2004 }
  const { topology, wishes, labels } = await restored(
    [
      '  - {id: n0, label: edge, tags: [core, "serial:4001"]}',
      '  - {id: n1, label: r2, tags: ["serial:4002"]}',
      '  - {id: n2, label: added, tags: [core]}',
      '  - {id: n3, label: desktop, tags: ["vnc:4004"]}',
      '',
    ].join('\n'),
    template,
    ports,
  )
  expect(wishes.map(({ name, node }) => [name, node])).toEqual([
    ['r1_serial', 'edge'],
    ['r2_serial', 'r2'],
    ['r3_serial', 'r3'],
    ['pc_vnc', 'desktop'],
  ])
  expect(parse(topology).nodes.map(({ tags }: { tags: string[] }) => tags)).toEqual([
    ['core', 'serial:2001'],
    ['serial:2002'],
    ['core'],
    ['vnc:2004'],
  ])
  const defined = ['r1', 'r2', 'r3', 'pc'].map(label => ({ label }))
  expect(addedNodes({ labels, wishes }, { nodes: defined as never })).toEqual(['added'])
})

it('what aliases name and fields that LCM does not know are kept, and annotations of ports are not', async () => {
  const text = [
    'lab: &l {version: 9.9.9, future: [1, 2.50, null]}',
    'nodes:',
    '  - {id: n0, label: r1, tags: &t [core, "serial:4001"], parameters: {list: *t}}',
    'smart_annotations: [{tag: core}, {tag: "serial:4001"}]',
    'again: *l',
  ].join('\n')
  const { topology } = await savedTopology(text, [serial('r1')], { r1_serial: 2001 }, async () => undefined)
  expect(topology).toContain('"future": [1, 2.50, null]')
  const lab = { version: '9.9.9', future: [1, 2.5, null] }
  expect(parse(topology)).toEqual({
    ...{ lab, again: lab, smart_annotations: [{ tag: 'core' }] },
    nodes: [{ id: 'n0', label: 'r1', tags: ['core', 'serial:2001'], parameters: { list: ['core', 'serial:4001'] } }],
  })
})

it('text that is no topology is refused', async () => {
  for (const text of ['', 'nodes: {}', 'nodes: [1]', '- a', 'nodes: [{label: r1}'])
    await expect(savedTopology(text, [], {}, async () => undefined)).rejects.toThrow()
})

/** Configurations that YAML could take for something else, and any other text. */
const configuration = fc.oneof(
  fc.constantFrom(
    '',
    'yes',
    '0123',
    '1e3',
    '~',
    '- a\n- b',
    'a: b # c',
    '  indented\n\ttab\n\n',
    '%YAML 1.1',
    '2026-01-02',
  ),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
)

it('a saved lab keeps every configuration and its own tags, and gets other ports', async () => {
  const port_template = [PortWish.parse({ name: 'r0', node: 'r0', protocol: 'serial', inside: 0 })]
  await fc.assert(
    fc.asyncProperty(fc.array(configuration, { minLength: 1, maxLength: 4 }), async configurations => {
      const nodes = configurations.map((text, n) => ({
        ...{ id: `n${n}`, label: `r${n}`, node_definition: 'iosv', x: 0, y: 0, tags: ['core', 'serial:2000'] },
        configuration: [{ name: 'Main', content: text }],
      }))
      const lab = { version: '9.9.9', title: 'renamed by its learner '.repeat(9) }
      const topology = stringify({ lab, nodes, links: [], annotations: [] })
      const { topology: text } = await savedTopology(topology, port_template, { r0: 2345 }, async () => undefined)
      const tagged = nodes.map((node, n) => ({ ...node, tags: n === 0 ? ['core', 'serial:2345'] : ['core'] }))
      expect(parse(text)).toEqual({ lab, nodes: tagged, links: [], annotations: [] })
    }),
  )
})
