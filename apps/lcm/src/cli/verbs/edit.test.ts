import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, LAB } from '../testing/resource-builders.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lcm-edit-'))
})
afterEach(() => rm(folder, { recursive: true }))

function author(more: Parameters<typeof aDefinition>[0] = {}) {
  const captured = capturedShell()
  captured.api.definitions.put(aDefinition(more))
  return { ...captured, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('creates the next version with another topology', async () => {
  const { lcm, api, outLines } = author()
  await writeFile(join(folder, 'new.yaml'), LAB.replace('BGP', 'new'))
  expect(await lcm('edit', 'definition', 'two-routers', '--file', join(folder, 'new.yaml'))).toBe(0)
  expect(api.requests().at(-1)).toBe('PUT /lablet-definitions/ld-1')
  expect(api.bodies()).toEqual([{ topology: LAB.replace('BGP', 'new') }])
  const [edited, warned] = outLines()
  expect(edited).toMatch(/^definition two-routers 1\.0\.1 \(ld-\w{13}\) is ACTIVE$/)
  expect(warned).toBe('warning: no template and no worker can run this lab now: no template is enabled')
})

it('sends only the given fields, so that nothing is fetched again', async () => {
  const { lcm, api } = author({ source: 's3://labs/bgp.zip' })
  expect(await lcm('edit', 'definition', 'two-routers', '--title', 'New', '--max-minutes', '90', '-o', 'name')).toBe(0)
  expect(api.bodies()).toEqual([{ title: 'New', max_duration_minutes: 90 }])
})

it('keeps the declared needs of a definition whose topology is not fetched yet', async () => {
  const needs = { cpu_cores: 9, memory_gb: 9, storage_gb: 9, node_count: 2 }
  const { lcm, api } = author({ source: 's3://labs/bgp.zip', topology: null, status: 'PENDING_SYNC', needs })
  expect(await lcm('edit', 'definition', 'two-routers', '--title', 'New')).toBe(0)
  expect(api.bodies()).toEqual([{ title: 'New' }])
})

it('sets the source of the topology', async () => {
  const { lcm, api } = author()
  expect(await lcm('edit', 'definition', 'two-routers', '--source', 's3://labs/bgp.zip')).toBe(0)
  expect(api.bodies()).toEqual([{ source: 's3://labs/bgp.zip' }])
})

it('exits with 2 without a change or with two topologies, with 3 for an unknown definition, with 4 for a deprecated one', async () => {
  const { lcm } = author({ status: 'DEPRECATED' })
  expect(await lcm('edit', 'definition', 'two-routers')).toBe(2)
  expect(await lcm('edit', 'definition', 'two-routers', '--file', 'x', '--source', 'file:x')).toBe(2)
  expect(await lcm('edit', 'definition', 'none', '--title', 'New')).toBe(3)
  expect(await lcm('edit', 'definition', 'two-routers', '--title', 'New')).toBe(4)
  expect(await lcm('edit', 'definition', 'two-routers', '--file', '/nowhere')).toBe(1)
})
