import { aDefinition } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { topologyToImport } from './topology-to-import.ts'

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
 * The parser's own check for duplicate keys compares each key with all others. A map of 12,000 keys, which the API accepts, blocks
 * the process for seconds at each attempt.
 */
it('duplicate keys are not checked again after the API has accepted the topology', async () => {
  expect((await read(lab(', x: 1'))).value.nodes).toMatchObject([{ label: 'r1', x: 1 }])
})

it('other work runs while a long topology is parsed', async () => {
  const short = await read(lab(''))
  expect(short.pauses).toBe(0)
  const notes = `annotations: [${Array.from({ length: 5_000 }, (_, n) => `{x1: ${n}}`).join(', ')}]\n`
  const long = await read(lab('', notes))
  expect(long.value.annotations).toHaveLength(5_000)
  expect(long.pauses).toBeGreaterThan(5)
})

it('aliases are expanded', async () => {
  const { value } = await read(lab(', tags: &t [core], parameters: {list: *t}'))
  expect(value.nodes[0]).toMatchObject({ tags: ['core'], parameters: { list: ['core'] } })
})

it('a file with a YAML 1.1 directive is parsed as the API parses it', async () => {
  const { value } = await read(`%YAML 1.1\n---\n${lab('').replace('label: r1', 'label: on')}`)
  expect(value.nodes[0].label).toBe('on')
})
