import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runLcm, runUnread, startLcm } from '../testing/lcm-process.ts'

const LIMIT = { timeout: 120_000 }
const folder = mkdtempSync(join(tmpdir(), 'lcm-apply-'))
const dataDir = join(folder, 'data')
const lcm = (...args: string[]) => runLcm(['--data', dataDir, ...args])

let up: ChildProcess | null = null
beforeAll(async () => {
  up = await startLcm(dataDir, 240)
}, LIMIT.timeout)
afterAll(async () => {
  const exited = up === null ? null : once(up, 'exit')
  up?.kill('SIGTERM')
  await exited
  rmSync(folder, { recursive: true, force: true })
})

const LAB = fileURLToPath(new URL('../../../../../examples/labs/two-routers.yaml', import.meta.url))

const fleet = (price: number, title: string) => `
kind: Worker
name: applied
template_name: big
labels: { team: blue }
---
kind: Definition
name: applied-lab
title: ${title}
topology_file: ${LAB}
---
kind: Template
name: big
instance_types: [m5.metal]
ami_name_pattern: cml-2.9.1-*
ami_owner: self
capacity: { cpu_cores: 96, memory_gb: 300, storage_gb: 100, max_nodes: 100 }
cost_per_hour_usd: ${price}
`

it('creates a fleet from a file, changes nothing the second time, and updates what differs', LIMIT, async () => {
  const file = join(folder, 'fleet.yaml')
  writeFileSync(file, fleet(5, 'One'))
  const things = ['template big', 'definition applied-lab', 'worker applied']
  const lines = (words: string) => things.map(thing => `${thing} ${words}\n`).join('')
  expect(await lcm('apply', '-f', file, '--dry-run')).toMatchObject({ code: 0, out: lines('would be created') })
  expect(await lcm('apply', '-f', file)).toMatchObject({ code: 0, out: lines('created') })
  expect(await lcm('apply', '-f', file)).toMatchObject({ code: 0, out: lines('unchanged') })
  writeFileSync(file, fleet(6, 'Two'))
  const dry = await lcm('apply', '-f', file, '--dry-run')
  expect(dry.out).toBe(
    'template big would be changed\n  cost_per_hour_usd: 5 → 6\n' +
      'definition applied-lab would be changed\n  title: "One" → "Two"\nworker applied unchanged\n',
  )
  expect((await lcm('apply', '-f', file)).out).toBe(
    'template big changed\ndefinition applied-lab changed\nworker applied unchanged\n',
  )
  const version = await lcm('get', 'definition', 'applied-lab', '-o', 'json')
  expect(JSON.parse(version.out)).toMatchObject({ definition_version: '1.0.1', status: 'ACTIVE', title: 'Two' })
  expect((await lcm('apply', '-f', file)).out).toBe(lines('unchanged'))
  writeFileSync(file, fleet(6, 'Two').replace('template_name: big', 'template_name: metal'))
  expect(await lcm('apply', '-f', file)).toMatchObject({
    code: 4,
    out: '',
    err: expect.stringContaining("can't change to metal"),
  })
})

it('applies everything when its reader leaves after the first line', LIMIT, async () => {
  const file = join(folder, 'many.yaml')
  const names = Array.from({ length: 8 }, (_, n) => `many-${n}`)
  const worker = (name: string) => `kind: Worker\nname: ${name}\ntemplate_name: metal\n`
  writeFileSync(file, names.map(worker).join('---\n'))
  expect(await runUnread(['--data', dataDir, 'apply', '-f', file])).toEqual({ code: 0, err: '' })
  expect((await lcm('get', 'workers', '-o', 'name')).out.split('\n')).toEqual(expect.arrayContaining(names))
})

it('completes names of existing resources in a real bash', LIMIT, async () => {
  const bin = fileURLToPath(new URL('../../../../../dist/lcm.mjs', import.meta.url))
  const offered = async (...words: string[]) => {
    const typed = `COMP_WORDS=(lcm ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`
    const script = `lcm() { "${process.execPath}" "${bin}" "$@"; }; source <(lcm completion bash); ${typed}; _lcm`
    const shown = `${script}; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', shown])
    return stdout.split('\n').filter(line => line !== '')
  }
  /** On a busy machine the API may not answer within the second that a person waits. */
  const known = async (...words: string[]): Promise<string[]> => {
    const names = await offered('--data', dataDir, ...words)
    return names.length > 0 ? names : known(...words)
  }
  expect(await known('stop', 'worker', 'meta')).toEqual(['metal-1', 'metal-2'])
  expect(await known('book', 'two')).toEqual(['two-routers'])
  expect(await offered('--data', join(folder, 'nowhere'), 'stop', 'worker', '')).toEqual([])
  expect(await offered('doct')).toEqual(['doctor'])
})
