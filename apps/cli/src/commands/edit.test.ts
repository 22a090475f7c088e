import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { portsOf } from '@lcm/domain/lablet/ports'
import { needsOf, Topology } from '@lcm/domain/lablet/topology'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition } from '../testing/samples.ts'

const LAB = { lab: { version: '0.3.0' }, nodes: [{ id: 'n0', label: 'r1', node_definition: 'alpine' }], links: [] }
const read = Topology.parse(LAB)
const topology = JSON.stringify(LAB)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lcm-edit-'))
})
afterEach(() => rm(folder, { recursive: true }))

function author(more: Parameters<typeof aDefinition>[0] = {}) {
  const captured = capturedShell()
  const derived = { topology, needs: needsOf(read), port_template: portsOf(read) }
  captured.api.lablets.definitions.put(aDefinition({ ...derived, lab_reuse: true, description: 'long', ...more }))
  return { ...captured, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('makes the next version with another topology, and keeps what was said before', async () => {
  const { lcm, api, out } = author()
  await writeFile(join(folder, 'new.yaml'), 'lab: new')
  expect(await lcm('edit', 'definition', 'two-routers', '--file', join(folder, 'new.yaml'))).toBe(0)
  expect(api.requests.at(-1)).toBe('PUT /lablet-definitions/ld-1')
  expect(api.bodies).toMatchObject([{ topology: 'lab: new', lab_reuse: true, description: 'long' }])
  expect(api.bodies).toMatchObject([{ needs: null, port_template: null }])
  expect(out()).toBe('definition two-routers 1.0.1 (ld-2) is ACTIVE\n')
})

it('changes what is given alone, and keeps needs that its author has said', async () => {
  const needs = { ...needsOf(read), memory_gb: 64 }
  const { lcm, api } = author({ needs })
  expect(await lcm('edit', 'definition', 'two-routers', '--title', 'New', '--max-minutes', '90', '-o', 'name')).toBe(0)
  expect(api.bodies).toMatchObject([{ topology, needs, port_template: null, title: 'New', max_duration_minutes: 90 }])
})

it('may have it fetched from now on', async () => {
  const { lcm, api } = author()
  expect(await lcm('edit', 'definition', 'two-routers', '--source', 's3://labs/bgp.zip')).toBe(0)
  expect(api.bodies).toMatchObject([{ source: 's3://labs/bgp.zip' }])
  expect(api.bodies[0]).not.toHaveProperty('topology')
})

it('exits with 2 without a change or with two topologies, with 3 without a definition, with 4 for one out of use', async () => {
  const { lcm } = author({ status: 'DEPRECATED' })
  expect(await lcm('edit', 'definition', 'two-routers')).toBe(2)
  expect(await lcm('edit', 'definition', 'two-routers', '--file', 'x', '--source', 'file:x')).toBe(2)
  expect(await lcm('edit', 'definition', 'none', '--title', 'New')).toBe(3)
  expect(await lcm('edit', 'definition', 'two-routers', '--title', 'New')).toBe(4)
  expect(await lcm('edit', 'definition', 'two-routers', '--file', '/nowhere')).toBe(1)
})
