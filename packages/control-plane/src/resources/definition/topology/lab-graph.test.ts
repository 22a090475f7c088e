import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../../crypto.ts'
import { aCourse, type Course } from '../../../testing/bookable-fleet.ts'
import { labGraphs } from './lab-graph.ts'

const LAB = `lab: {version: 0.3.0}
nodes:
  - {id: n0, label: r1, node_definition: iol-xe, x: 0, y: 0, interfaces: [{id: i0, type: physical, label: Ethernet0/0}]}
  - id: n1
    label: sw
    node_definition: unmanaged_switch
    x: 1
    y: 0
    interfaces: [{id: i0, type: physical, label: port0}, {id: i1, type: physical}]
  - {id: n2, label: h1, node_definition: alpine, x: 2, y: 0, interfaces: [{id: i0, type: physical}]}
links:
  - {id: l0, n1: n0, n2: n1, i1: i0, i2: i0}
  - {id: l1, n1: n1, n2: n2, i1: i1, i2: i0}
  - {id: l2, n1: n0, n2: n2, i1: i0, i2: i0, label: uplink}
`
const GRAPH = {
  nodes: [
    { id: 'n0', label: 'r1', node_definition: 'iol-xe' },
    { id: 'n1', label: 'sw', node_definition: 'unmanaged_switch' },
    { id: 'n2', label: 'h1', node_definition: 'alpine' },
  ],
  links: [
    { a: 'n0', b: 'n1', label: 'Ethernet0/0 – port0' },
    { a: 'n1', b: 'n2', label: '' },
    { a: 'n0', b: 'n2', label: 'uplink' },
  ],
}

describe('the graph of a lab', () => {
  let course: Course
  beforeEach(() => {
    course = aCourse()
  })
  const get = async (id: string) => (await course.send('GET', `lablet-definitions/${id}`)).json

  it('has nodes, and links by their own label or their interfaces', async () => {
    const { id } = await course.define({ topology: LAB })
    expect((await get(id)).graph).toEqual(GRAPH)
  })

  it('has the fields that its author set', async () => {
    const { id } = await course.define({ port_template: [] })
    expect((await get(id)).given).toEqual({ title: false, needs: false, port_template: true, cml_min: false })
  })

  it('is absent before the topology is fetched', async () => {
    const json = { name: 'far', source: 'https://example.org/lab.yaml' }
    const { id } = (await course.send('POST', 'lablet-definitions', { json })).json
    expect(await get(id)).toMatchObject({ topology: null, graph: null })
  })

  it('is absent when the text is not a valid lab now, and each text is parsed once', async () => {
    let pauses = 0
    const graphOf = labGraphs(async () => {
      pauses += 1
    })
    const long = `${LAB}annotations: [{text: [${'x, '.repeat(20_000)}y]}]\n`
    const definition = (topology: string) => ({ topology, topology_sha256: sha256(topology) }) as LabletDefinition
    expect(await graphOf(definition('lab: 1'))).toBeNull()
    expect(await graphOf(definition(long))).toEqual(GRAPH)
    const once = pauses
    expect(once).toBeGreaterThan(0)
    expect(await graphOf(definition(long))).toEqual(GRAPH)
    expect(pauses).toBe(once)
  })
})
