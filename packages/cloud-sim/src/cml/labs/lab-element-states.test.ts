import { describe, expect, it } from 'vitest'
import type { CmlLab, LabNode, NodeMoment } from './lab.ts'
import { afterOutage, isLabConverged, labStateAt, linkStateAt, nodeStateAt } from './lab-element-states.ts'

const node = (id: string, ...timeline: readonly (readonly [NodeMoment['state'], number])[]): LabNode => ({
  id,
  label: id,
  node_definition: 'server',
  image_definition: null,
  files: [],
  x: 0,
  y: 0,
  ram: null,
  cpus: null,
  cpu_limit: null,
  data_volume: null,
  boot_disk_size: null,
  hide_links: false,
  tags: [],
  parameters: {},
  interfaces: [],
  launch_number: 0,
  timeline: timeline.map(([state, from_ms]) => ({ state, from_ms })),
})

const lab = (...nodes: readonly LabNode[]): CmlLab => ({
  id: 'lab',
  title: '',
  description: '',
  notes: '',
  owner: '',
  created_ms: 0,
  modified_ms: 0,
  nodes,
  links: [],
  annotations: [],
  smart_annotations: [],
  elements_made: 0,
})

const booting = node('booting', ['DEFINED_ON_CORE', 0], ['QUEUED', 10], ['STARTED', 20], ['BOOTED', 30])
const fresh = node('fresh', ['DEFINED_ON_CORE', 0])
const stopped = node('stopped', ['DEFINED_ON_CORE', 0], ['STOPPED', 5])

describe('a lab', () => {
  it.each([
    [[], 'DEFINED_ON_CORE'],
    [[fresh], 'DEFINED_ON_CORE'],
    [[fresh, stopped], 'STOPPED'],
    [[fresh, stopped, booting], 'STARTED'],
  ])('of %j is %s', (nodes, state) => {
    expect(labStateAt(lab(...nodes), 15)).toBe(state)
  })

  it('has converged when no change is planned, and not while a node waits for capacity', () => {
    expect(isLabConverged(lab(booting), 29)).toBe(false)
    expect(isLabConverged(lab(booting), 30)).toBe(true)
    expect(isLabConverged(lab(node('waiting', ['QUEUED', 0])), 1_000_000)).toBe(false)
  })

  it('has an active link once both of its ends run', () => {
    const link = {
      id: 'l',
      label: '',
      node_a: 'booting',
      node_b: 'later',
      interface_a: '',
      interface_b: '',
      conditioning: {},
    }
    const both = lab(booting, node('later', ['DEFINED_ON_CORE', 0], ['STARTED', 25], ['STOPPED', 40]))
    expect([15, 22, 26, 41].map(at => linkStateAt(both, link, at))).toEqual([
      'DEFINED_ON_CORE',
      'DEFINED_ON_CORE',
      'STARTED',
      'STOPPED',
    ])
  })
})

describe('an outage of the host', () => {
  it('stops running nodes and drops planned changes', () => {
    const after = afterOutage(lab(booting, fresh), 25)
    expect(after.nodes.map(one => nodeStateAt(one, 100))).toEqual(['STOPPED', 'DEFINED_ON_CORE'])
    expect(isLabConverged(after, 25)).toBe(true)
  })

  it('is idempotent, and ignores nodes that started after it', () => {
    const after = afterOutage(lab(booting), 25)
    expect(afterOutage(after, 25)).toBe(after)
    const later = lab(booting)
    expect(afterOutage(later, 5)).toBe(later)
  })
})
