import { describe, expect, it } from 'vitest'
import { judgeLabFile, oldestCmlFor } from './lab-file.ts'

const I0 = { id: 'i0', type: 'physical', label: 'e0', slot: 0, mac_address: null }
const NODE = { id: 'n0', label: 'r1', node_definition: 'iosv', x: -40, y: 0, interfaces: [I0] }

/** As a server of 2.9 exports it, with all that may be there. */
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

describe('is taken:', () => {
  it.each<[string, unknown]>([
    ['an export of 2.9', EXPORT],
    ['no interfaces, tags or parameters', withNode({ tags: undefined, parameters: null, interfaces: [I0] })],
    ['a loopback without a slot', withNode({ interfaces: [I0, { id: 'i1', type: 'loopback', label: 'lo' }] })],
    ['the order of starts of 2.10', withLab({ version: '0.3.1', node_staging: { enabled: true } })],
    ['members of 2.10', withNode({ priority: 5, pyats: { username: 'a' } })],
    ['what a release of long ago wrote, whose rules are not known', withLab({ version: '0.0.3', timestamp: 1.5 })],
  ])('%s', (_, value) => {
    expect(placesIn(value)).toEqual([])
  })
})

describe('is refused where it is wrong:', () => {
  it.each<[string, unknown, string]>([
    ['something beside what a lab has', { ...EXPORT, extra: 1 }, 'extra'],
    ['something that no lab says of itself', withLab({ owner: 'ann' }), 'lab.owner'],
    ['something that no node has', withNode({ state: 'BOOTED' }), 'nodes.0.state'],
    ['a node without a place', withNode({ x: undefined }), 'nodes.0.x'],
    ['a node far away', withNode({ y: 15_001 }), 'nodes.0.y'],
    ['half a CPU in ten', withNode({ cpu_limit: 5 }), 'nodes.0.cpu_limit'],
    ['an interface of no kind', withNode({ interfaces: [{ id: 'i0' }] }), 'nodes.0.interfaces.0.type'],
    ['an interface twice', withNode({ interfaces: [I0, I0] }), 'nodes.0.interfaces.1'],
    ['a link that ends at no interface', withLink({ i2: 'i7' }), 'links.0.i2'],
    ['a link as a server answers it', withLink({ state: 'STARTED' }), 'links.0.state'],
    ['a link to no node', withLink({ n1: 'n9' }), 'links.0'],
  ])('%s', (_, value, place) => {
    expect(placesIn(value)).toContain(place)
  })
})

describe('the oldest release that takes a lab', () => {
  const oldest = (value: unknown) => {
    const verdict = judgeLabFile(value)
    return verdict.isGood ? oldestCmlFor(verdict.topology) : 'none'
  }

  it.each<[string, unknown, string | null]>([
    ['is any, for what 2.9 wrote', EXPORT, null],
    ['is the one whose version it has', withLab({ version: '0.3.1' }), '2.10'],
    ['is the one that knows its members', withNode({ priority: 1 }), '2.10'],
    ['is the one that knows of staging', withLab({ node_staging: {} }), '2.10'],
  ])('%s', (_, value, expected) => {
    expect(oldest(value)).toBe(expected)
  })
})
