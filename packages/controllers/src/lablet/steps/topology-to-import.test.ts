import { PortWish } from '@lcm/domain/lab/ports'
import { aDefinition } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
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
      const text = await topologyToImport({ topology, port_template }, { r0: 2345 }, async () => undefined)
      const tagged = nodes.map((node, n) => ({ ...node, tags: n === 0 ? ['core', 'serial:2345'] : ['core'] }))
      expect(JSON.parse(text)).toEqual({ lab, nodes: tagged, links: [], annotations: [] })
    }),
  )
})
