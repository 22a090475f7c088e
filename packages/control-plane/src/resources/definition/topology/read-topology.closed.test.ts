import { describe, expect, it } from 'vitest'
import { readTopology } from './read-topology.ts'

const NODE = 'id: n0, label: r1, node_definition: iosv, x: 0, y: 0'
const INTERFACE = 'interfaces: [{id: i0, type: physical}]'
const OTHER = NODE.replace('n0', 'n1').replace('r1', 'r2')
const lab = ({ node = NODE, link = '', more = '' }) => {
  const links = link === '' ? '  []' : `  - {${link}}`
  return `lab: {version: 0.3.0}\nnodes:\n  - {${node}, ${INTERFACE}}\n  - {${OTHER}, ${INTERFACE}}\nlinks:\n${links}\n${more}`
}
const linesOf = async (text: string) => {
  const reading = await readTopology(text, async () => undefined)
  return reading.ok ? [] : reading.errors.map(({ line, path }) => [line, path.replace('body.topology.', '')])
}

it('accepts a lab that CML accepts', async () => {
  expect(await linesOf(lab({ link: 'id: l0, n1: n0, i1: i0, n2: n1, i2: i0' }))).toEqual([])
})

/** CML refuses each of these at the import, when a learner waits and a machine may have been bought. */
describe('refuses at once what CML would refuse, with its line', () => {
  it.each([
    ['a node without coordinates', { node: 'id: n0, label: r1, node_definition: iosv' }, 3],
    ['an unknown field of a node', { node: `${NODE}, surprise: 1` }, 3],
    ['a coordinate that is not a number', { node: `${NODE.replace('x: 0', 'x: left')}` }, 3],
    ['a link to a missing interface', { link: 'id: l0, n1: n0, i1: i9, n2: n1, i2: i0' }, 6],
    ['an unknown key beside lab, nodes and links', { more: 'extra: 1\n' }, 7],
  ])('%s', async (_, parts, line) => {
    expect((await linesOf(lab(parts))).map(([at]) => at)).toContain(line)
  })
})

it('reports an unknown key at its line, and a missing one at its parent', async () => {
  const text = `lab:
  version: 0.3.0
nodes:
  - id: n0
    label: r1
    surprise:
      - 1
    node_definition: iosv
    x: 0
links: []
`
  const reading = await readTopology(text, async () => undefined)
  expect(reading.ok ? [] : reading.errors).toEqual([
    { line: 4, path: 'body.topology.nodes.0.y', message: 'it is missing, a number' },
    { line: 6, path: 'body.topology.nodes.0.surprise', message: 'CML knows nothing of this name here' },
  ])
})
