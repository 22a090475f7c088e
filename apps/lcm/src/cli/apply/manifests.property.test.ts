import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CliError } from '../cli-error.ts'
import { readManifests } from './manifests.ts'

const LAB = readFileSync(new URL('../../../../../examples/labs/two-routers.yaml', import.meta.url), 'utf8')
const FLEET = `kind: Template
name: big
instance_types: &types [m5.metal]
ami_name_pattern: cml-*
ami_owner: self
capacity: { cpu_cores: 96, memory_gb: 300, storage_gb: 100, max_nodes: 100 }
cost_per_hour_usd: 5
---
{ "kind": "Worker", "name": "one", "template_name": "big", "labels": { "team": "blue" } }
---
kind: Definition
name: bgp
topology: ${JSON.stringify(LAB.slice(0, 400))}
`
/** Characters with a meaning in YAML. */
const SIGNS = [
  ...[
    '\n',
    ' ',
    '\t',
    ':',
    '- ',
    '&a ',
    '*a',
    '<<: *types',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '>',
    '#',
    '? ',
    '---\n',
    '...\n',
  ],
  ...[
    '!!binary ',
    '!!set ',
    '!!omap ',
    '!x ',
    '%YAML 9\n',
    '\u0000',
    '\ud800',
    '\u2028',
    '\ufeff',
    '1e999',
    '.nan',
    '0o7',
  ],
  ...['__proto__: ', 'constructor: ', 'kind: ', 'name: ', 'topology_file: x\n', '['.repeat(200)],
]

const edited = fc
  .array(fc.tuple(fc.nat(FLEET.length), fc.nat(12), fc.oneof(fc.constantFrom(...SIGNS), fc.string({ maxLength: 8 }))), {
    maxLength: 8,
  })
  .map(edits => edits.reduce((text, [at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone), FLEET))

it('returns documents or a refusal that names the file, for any text', async () => {
  const texts = fc.oneof(edited, edited, fc.string({ unit: 'binary', maxLength: 200 }))
  const property = fc.asyncProperty(texts, async text => {
    const source = { name: 'fleet.yaml', text, folder: '/nowhere', path: null }
    const [end] = await Promise.allSettled([readManifests([source])])
    if (end.status === 'fulfilled') return expect(end.value.every(({ name }) => name.length > 0)).toBe(true)
    expect(end.reason).toBeInstanceOf(CliError)
    expect([end.reason.message, ...end.reason.details].join(' ')).toMatch(/fleet\.yaml|defined twice/)
  })
  await fc.assert(property, { numRuns: 200 })
})
