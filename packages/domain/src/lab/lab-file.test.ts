import { describe, expect, it } from 'vitest'
import { judgeLabFile, oldestCmlFor } from './lab-file.ts'

const I0 = { id: 'i0', type: 'physical', label: 'e0', slot: 0, mac_address: null }
const NODE = { id: 'n0', label: 'r1', node_definition: 'iosv', x: -40, y: 0, interfaces: [I0] }

/** An export of a 2.9 server, with every field. */
const EXPORT = {
  lab: { version: '0.3.0', title: 'a lab', description: '', notes: '' },
  annotations: [{ type: 'text', x1: -40.5, y1: 0, text_content: 'hello' }],
  smart_annotations: [{ tag: 'core', label: 'core', is_on: true, padding: 35 }],
  nodes: [
    {
      ...NODE,
      ...{ image_definition: null, cpus: null, ram: 512, cpu_limit: 80, data_volume: 0, boot_disk_size: null },
      ...{ hide_links: false, tags: ['core'], parameters: { 'smbios.bios.vendor': 'x' } },
      configuration: [{ name: 'Main', content: 'hostname r1' }],
    },
    { ...NODE, id: 'n1', label: 'r2', configuration: 'hostname r2', cpus: 0, ram: 0, cpu_limit: 0 },
    { ...NODE, id: 'n2', label: 'nat', node_definition: 'external_connector', configuration: { name: 'x' } },
  ],
  links: [{ id: 'l0', n1: 'n0', i1: 'i0', n2: 'n1', i2: 'i0', label: 'r1-r2', conditioning: {} }],
}
const [FIRST, ...OTHERS] = EXPORT.nodes
const withNode = (more: object) => ({ ...EXPORT, nodes: [{ ...FIRST, ...more }, ...OTHERS] })
const withLab = (more: object) => ({ ...EXPORT, lab: { ...EXPORT.lab, ...more } })
const withLink = (more: object) => ({ ...EXPORT, links: [{ ...EXPORT.links[0], ...more }] })

const placesIn = (value: unknown): string[] => {
  const verdict = judgeLabFile(value)
  if (verdict.isGood) return []
  return verdict.issues.flatMap(issue =>
    issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...issue.path, key].join('.')) : [issue.path.join('.')],
  )
}

describe('accepts', () => {
  it.each<[string, unknown]>([
    ['an export of 2.9', EXPORT],
    ['no interfaces, tags or parameters', withNode({ tags: undefined, parameters: null, interfaces: [I0] })],
    ['a loopback without a slot', withNode({ interfaces: [I0, { id: 'i1', type: 'loopback', label: 'lo' }] })],
    ['the node staging of 2.10', withLab({ version: '0.3.1', node_staging: { enabled: true } })],
    ['members of 2.10', withNode({ priority: 5, pyats: { username: 'a' } })],
    ['an export of an old release with unknown rules', withLab({ version: '0.0.3', timestamp: 1.5 })],
  ])('%s', (_, value) => {
    expect(placesIn(value)).toEqual([])
  })
})

describe('refuses, with the path of the error,', () => {
  it.each<[string, unknown, string]>([
    ['an unknown field at the top', { ...EXPORT, extra: 1 }, 'extra'],
    ['an unknown field of a lab', withLab({ owner: 'ann' }), 'lab.owner'],
    ['an unknown field of a node', withNode({ state: 'BOOTED' }), 'nodes.0.state'],
    ['a node without a position', withNode({ x: undefined }), 'nodes.0.x'],
    ['a node with a position out of range', withNode({ y: 15_001 }), 'nodes.0.y'],
    ['a CPU limit below the minimum', withNode({ cpu_limit: 5 }), 'nodes.0.cpu_limit'],
    ['an interface without a type', withNode({ interfaces: [{ id: 'i0' }] }), 'nodes.0.interfaces.0.type'],
    ['a duplicate interface', withNode({ interfaces: [I0, I0] }), 'nodes.0.interfaces.1'],
    ['a link to a missing interface', withLink({ i2: 'i7' }), 'links.0.i2'],
    ['a link with a state', withLink({ state: 'STARTED' }), 'links.0.state'],
    ['a link to a missing node', withLink({ n1: 'n9' }), 'links.0'],
  ])('%s', (_, value, place) => {
    expect(placesIn(value)).toContain(place)
  })
})

describe('the oldest release that accepts a lab', () => {
  const oldest = (value: unknown) => {
    const verdict = judgeLabFile(value)
    return verdict.isGood ? oldestCmlFor(verdict.topology) : 'none'
  }

  it.each<[string, unknown, string | null]>([
    ['is any for an export of 2.9', EXPORT, null],
    ['is the release of its version', withLab({ version: '0.3.1' }), '2.10'],
    ['is the release with its fields', withNode({ priority: 1 }), '2.10'],
    ['is the release with node staging', withLab({ node_staging: {} }), '2.10'],
  ])('%s', (_, value, expected) => {
    expect(oldest(value)).toBe(expected)
  })
})
