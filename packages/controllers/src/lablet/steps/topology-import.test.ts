import { aDefinition } from '@lcm/testkit/builders'
import { expect, it } from 'vitest'
import { topologyToImport } from './topology-import.ts'

const NODE = '{id: n0, label: r1, node_definition: iosv, x: 0, y: 0'
const lab = (node: string, more = '') => `lab: {version: 0.3.0}\nnodes:\n  - ${NODE}${node}}\nlinks: []\n${more}`

async function read(topology: string) {
  let pauses = 0
  const text = await topologyToImport(aDefinition({ topology }), {}, async () => {
    pauses += 1
  })
  return { value: JSON.parse(text), pauses }
}

/**
 * The parser's own look for repeated keys compares each key with all others. A map of 12,000 keys, which the API takes, keeps
 * the whole process busy for seconds at each try.
 */
it('repeated keys are looked for by the API alone, which refused them with their line', async () => {
  expect((await read(lab(', x: 1'))).value.nodes).toMatchObject([{ label: 'r1', x: 1 }])
})

it('others get their turns while a long one is read', async () => {
  const short = await read(lab(''))
  expect(short.pauses).toBe(0)
  const notes = `annotations: [${Array.from({ length: 5_000 }, (_, n) => `{x1: ${n}}`).join(', ')}]\n`
  const long = await read(lab('', notes))
  expect(long.value.annotations).toHaveLength(5_000)
  expect(long.pauses).toBeGreaterThan(5)
})

it('what is said twice by reference is written out', async () => {
  const { value } = await read(lab(', tags: &t [core], parameters: {list: *t}'))
  expect(value.nodes[0]).toMatchObject({ tags: ['core'], parameters: { list: ['core'] } })
})

it('a file that says it is YAML 1.1 is read as the API has read it', async () => {
  const { value } = await read(`%YAML 1.1\n---\n${lab('').replace('label: r1', 'label: on')}`)
  expect(value.nodes[0].label).toBe('on')
})
