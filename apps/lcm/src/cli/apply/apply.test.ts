import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UnreachableError } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aTemplate, aWorker } from '../testing/resource-builders.ts'

const LAB = readFileSync(new URL('../../../../../examples/labs/two-routers.yaml', import.meta.url), 'utf8')

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lcm-apply-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function applying(text: string, ...args: string[]) {
  const captured = capturedShell()
  const file = join(folder, 'fleet.yaml')
  await writeFile(file, text)
  const lcm = (...more: string[]) => run(['apply', '-f', file, ...args, ...more], captured.shell)
  const written = () => captured.api.requests().filter(request => !request.startsWith('GET'))
  return { ...captured, lcm, written }
}

const TEMPLATE = `
kind: Template
name: big
instance_types: [m5.metal]
ami_name_pattern: cml-*
ami_owner: self
capacity: { cpu_cores: 96, memory_gb: 300, storage_gb: 100, max_nodes: 100 }
cost_per_hour_usd: 5
`
const ALL = `
kind: Worker
name: one
template_name: big
labels: { team: blue }
---${TEMPLATE}---
kind: Definition
name: bgp
topology: ${JSON.stringify(LAB)}
`

const NOTHING_RUNS_IT = '  warning: no template and no worker can run this lab now: no template is enabled\n'

it('creates missing resources, templates first, and reports them', async () => {
  const { lcm, out, written } = await applying(ALL)
  expect(await lcm()).toBe(0)
  expect(out()).toBe('template big created\ndefinition bgp created\nworker one created\n')
  expect(written()).toEqual(['POST /worker-templates', 'POST /lablet-definitions', 'POST /workers'])
})

it('says right away that nothing can run a lab', async () => {
  const { lcm, outLines } = await applying(
    ALL.replace('name: bgp', 'name: bgp\nneeds: { cpu_cores: 64, memory_gb: 500, storage_gb: 1, node_count: 2 }'),
  )
  expect(await lcm()).toBe(0)
  expect(outLines().slice(1, 3)).toEqual([
    'definition bgp created',
    expect.stringMatching(/^ {2}warning: no template and no worker can run this lab now: no template fits: needs /),
  ])
})

it('does nothing the second time', async () => {
  const { lcm, out, written } = await applying(ALL)
  await lcm()
  const before = written().length
  expect(await lcm()).toBe(0)
  expect(out().split('\n').slice(3, 6)).toEqual([
    'template big unchanged',
    'definition bgp unchanged',
    'worker one unchanged',
  ])
  expect(written()).toHaveLength(before)
})

it('prints each field that would change, and changes nothing', async () => {
  const text =
    'kind: Template\nname: metal\ncost_per_hour_usd: 9\ncapacity: { cpu_cores: 8, memory_gb: 300, storage_gb: 100, max_nodes: 100 }\n'
  const { lcm, out, api, written } = await applying(
    `${text}instance_types: [m5.metal]\nami_name_pattern: cml-*\nami_owner: self\n`,
  )
  const template = aTemplate({
    name: 'metal',
    cost_per_hour_usd: 4,
    enabled: false,
    ami_name_pattern: 'cml-*',
    ami_owner: 'self',
  })
  api.putTemplate({
    ...template,
    instance_types: ['m5.metal'],
    capacity: { cpu_cores: 48, memory_gb: 300, storage_gb: 100, max_nodes: 100 },
  })
  expect(await lcm('--dry-run')).toBe(0)
  expect(out()).toBe('template metal would be changed\n  capacity.cpu_cores: 48 → 8\n  cost_per_hour_usd: 4 → 9\n')
  expect(written()).toEqual([])
  expect(await lcm('-o', 'json', '--dry-run')).toBe(0)
  expect(await lcm()).toBe(0)
  expect(out()).toMatch(/template metal changed\n$/)
  // Omitted fields keep their values.
  expect(api.bodies().at(-1)).toMatchObject({ cost_per_hour_usd: 9, enabled: false })
})

it('accepts the files of deploy/templates unchanged', async () => {
  const { shell, out } = capturedShell()
  const place = fileURLToPath(new URL('../../../../../deploy/templates', import.meta.url))
  expect(await run(['apply', '-f', place, '--dry-run'], shell)).toBe(0)
  expect(out()).toBe(['metal', 'nested-large', 'nested'].map(name => `template ${name} would be created\n`).join(''))
})

it('reads standard input, and JSON', async () => {
  const worker = { kind: 'Worker', name: 'x', template_name: 'metal' }
  const { shell, api, out } = capturedShell({ input: JSON.stringify(worker) })
  api.putTemplate(aTemplate({ name: 'metal' }))
  expect(await run(['apply', '-f', '-', '-o', 'json'], shell)).toBe(0)
  expect(JSON.parse(out())).toEqual({
    dry_run: false,
    items: [{ kind: 'Worker', name: 'x', outcome: 'created', changes: [] }],
  })
})

it('creates the next version of a definition that differs', async () => {
  const { lcm, out, api, written } = await applying('kind: Definition\nname: two-routers\ntitle: New\n')
  api.definitions.put(aDefinition({ title: 'Old' }))
  expect(await lcm('--dry-run')).toBe(0)
  expect(await lcm()).toBe(0)
  expect(out()).toBe(
    `definition two-routers would be changed\n  title: "Old" → "New"\ndefinition two-routers changed\n${NOTHING_RUNS_IT}`,
  )
  expect(written()).toEqual(['PUT /lablet-definitions/ld-1'])
  expect(api.bodies().at(-1)).toEqual({ title: 'New' })
})

it('reads a topology from a file next to it', async () => {
  await writeFile(join(folder, 'lab.txt'), LAB)
  const { lcm, api } = await applying('kind: Definition\nname: bgp\ntopology_file: lab.txt\n')
  expect(await lcm()).toBe(0)
  expect(api.bodies().at(-1)).toMatchObject({ name: 'bgp', topology: LAB })
})

it('accepts a folder with topologies next to the definitions that name them', async () => {
  const { shell, api, out } = capturedShell()
  await writeFile(join(folder, 'a-lab.yaml'), LAB)
  await writeFile(join(folder, 'bgp.yaml'), 'kind: Definition\nname: bgp\ntopology_file: ./a-lab.yaml\n')
  expect(await run(['apply', '-f', folder], shell)).toBe(0)
  expect(out()).toBe(`definition bgp created\n${NOTHING_RUNS_IT}`)
  expect(api.bodies().at(-1)).toMatchObject({ name: 'bgp', topology: LAB })
})

it('gives advice for a topology that no definition names, and for a missing one', async () => {
  const { shell, err } = capturedShell()
  const [lab, definition] = [join(folder, 'lab.yaml'), join(folder, 'bgp.yaml')]
  await writeFile(lab, LAB)
  await writeFile(definition, 'kind: Definition\nname: bgp\ntopology_file: nowhere.yaml\n')
  expect(await run(['apply', '-f', folder], shell)).toBe(1)
  expect(err().trimEnd().split('\n').slice(1)).toEqual([
    `  ${definition}: topology_file: ${join(folder, 'nowhere.yaml')} can't be read (ENOENT): paths are relative to this document`,
    `  ${lab}: this is a CML topology: refer to it as topology_file in a document of kind Definition, or use \`lcm create definition -f\``,
  ])
})

it('changes the mutable fields of an existing worker, and exits with 4 for others before any change', async () => {
  const { lcm, api, out, err, written } = await applying(
    'kind: Worker\nname: one\ntemplate_name: metal\nprotected: true\nlabels: { a: b }\n',
  )
  api.put(aWorker({ name: 'one', template_name: 'metal', protected: false, labels: {} }))
  expect(await lcm()).toBe(0)
  expect(out()).toBe('worker one changed\n')
  expect(api.bodies()).toEqual([{ protected: true, labels: { a: 'b' } }])
  await writeFile(join(folder, 'fleet.yaml'), `kind: Worker\nname: one\ntemplate_name: other\n---${TEMPLATE}`)
  expect(await lcm()).toBe(4)
  expect(err()).toBe(
    "error: worker one: its template_name is metal and can't change to other: terminate it first, or use another name\n",
  )
  expect(written()).toHaveLength(1)
})

it('keeps the fields that a file omits, and needs all of them for a new resource', async () => {
  const { lcm, api, out, err, written } = await applying(
    'kind: Template\nname: metal\ncost_per_hour_usd: 9\n---\nkind: Worker\nname: one\nprotected: true\n',
  )
  expect(await lcm()).toBe(1)
  expect(err()).toContain(
    'template metal does not exist, and creating it also needs instance_types, ami_name_pattern, ami_owner, capacity',
  )
  expect(err()).toContain(
    'worker one does not exist, and creating it also needs template_name: add these fields and try again',
  )
  expect(written()).toEqual([])
  api.putTemplate(aTemplate({ name: 'metal', enabled: false }))
  api.put(aWorker({ name: 'one', protected: false }))
  expect(await lcm()).toBe(0)
  expect(out()).toBe('template metal changed\nworker one changed\n')
  const { instance_types, capacity, root_volume_gb } = aTemplate()
  const kept = { instance_types, capacity, root_volume_gb, enabled: false }
  expect(api.bodies()).toMatchObject([{ ...kept, cost_per_hour_usd: 9 }, { protected: true }])
})

it('exits with 4 for a deprecated definition, with 3 for a worker of an unknown template', async () => {
  const { lcm, api } = await applying('kind: Definition\nname: two-routers\ntitle: New\n')
  api.definitions.put(aDefinition({ status: 'DEPRECATED' }))
  expect(await lcm()).toBe(4)
  expect(await (await applying('kind: Worker\nname: one\ntemplate_name: none\n')).lcm()).toBe(3)
})

it('refuses a worker of a disabled template before any change, unless the file enables it', async () => {
  const worker = 'kind: Worker\nname: one\ntemplate_name: big\n'
  const isNew = await applying(`${TEMPLATE}enabled: false\n---\n${worker}`)
  expect(await isNew.lcm()).toBe(1)
  expect(isNew.err()).toBe('error: template big is disabled: enable it first\n')
  expect(isNew.written()).toEqual([])
  const isThere = await applying(`${TEMPLATE}---\n${worker}`)
  isThere.api.putTemplate(aTemplate({ name: 'big', enabled: false }))
  expect(await isThere.lcm('--dry-run')).toBe(1)
  await writeFile(join(folder, 'fleet.yaml'), worker)
  expect(await isThere.lcm()).toBe(1)
  expect(isThere.written()).toEqual([])
  await writeFile(join(folder, 'fleet.yaml'), `${TEMPLATE}enabled: true\n---\n${worker}`)
  expect(await isThere.lcm()).toBe(0)
})

it.each([
  ['kind: Lamp\nname: x\n', 'kind: must be one of LicensePool, Template, Definition, Worker'],
  ['kind: Worker\ntemplate_name: metal\n', 'name: required'],
  ['kind: Worker\nname: x\ntemplate_name: metal\ncolor: red\n', 'color: unknown field'],
  ['kind: Template\nname: x\ncapacity: { cpu_cores: 8 }\n', 'capacity.memory_gb: it is missing, a number'],
  ['kind: Template\nenabled: false\n', 'name: it is missing, text'],
  ['kind: Definition\nname: x\ntopology: "nodes: 3"\n', 'topology: '],
  [
    'kind: Worker\nname: x\ntemplate_name: a\n---\nkind: Worker\nname: x\ntemplate_name: a\n',
    'Worker x: defined twice',
  ],
  ['- 1\n', 'expected fields, such as kind and name'],
  ['a: [', 'fleet.yaml: '],
])('refuses %j before any request', async (text, words) => {
  const { lcm, err, api } = await applying(text)
  expect(await lcm()).toBe(1)
  expect(err()).toContain('nothing was changed: fix these errors and try again')
  expect(err()).toContain(words)
  expect(api.requests()).toEqual([])
})

it('needs a file or standard input', async () => {
  const { lcm, err } = await applying('# nothing\n')
  expect(await lcm()).toBe(1)
  expect(err()).toContain('no documents found in')
  expect(await run(['apply', '-f', '/nowhere'], capturedShell().shell)).toBe(1)
  expect(await run(['apply', '-f', '-'], capturedShell({ isTty: true }).shell)).toBe(2)
  expect(await run(['apply'], capturedShell().shell)).toBe(2)
  await rm(join(folder, 'fleet.yaml'))
  expect(await run(['apply', '-f', folder], capturedShell().shell)).toBe(1)
})

it('reports all refusals at once, before any change', async () => {
  const { lcm, err, out } = await applying(
    'kind: Template\nname: metal\ncost_per_hour_usd: 9\ninstance_types: [x]\nami_name_pattern: y\nami_owner: self\n' +
      'capacity: { cpu_cores: 8, memory_gb: 300, storage_gb: 100, max_nodes: 100 }\n' +
      '---\nkind: Worker\nname: one\ntemplate_name: metal\naws_region: us-east-1\n' +
      '---\nkind: Worker\nname: two\ntemplate_name: metal\n',
    '--token',
    'wrong',
  )
  expect(await lcm()).toBe(5)
  expect(err()).toContain('Worker two: not authenticated')
  expect(out()).toBe('')
})

it.each([
  [[], 'template big created\n'],
  [['-o', 'name'], 'big\n'],
  [
    ['-o', 'yaml'],
    'dry_run: false\nitems:\n  - kind: Template\n    name: big\n    outcome: created\n    changes: []\n',
  ],
])('reports what was and was not done when it fails in the middle, with %j', async (args, expected) => {
  const workers = ['one', 'two'].map(name => `---\nkind: Worker\nname: ${name}\ntemplate_name: big\n`).join('')
  const { shell, api, out, err, clock } = await applying(`${TEMPLATE}${workers}`)
  const transport = async (): Promise<Dispatch> => async request => {
    if (request.method === 'POST' && request.url.endsWith('/workers')) throw new UnreachableError('it broke')
    return api.dispatch(request)
  }
  let exitCode: number | null = null
  const running = run(['apply', '-f', join(folder, 'fleet.yaml'), ...args], { ...shell, transport }).then(code => {
    exitCode = code
  })
  // It asks again for a while.
  while (exitCode === null) await clock.advance(1_000)
  await running
  expect(exitCode).toBe(6)
  expect(out()).toBe(expected)
  expect(err()).toMatch(/^error: Worker one: LCM does not respond .*\n {2}Worker two: skipped\n$/)
})
