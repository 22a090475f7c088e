import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, LAB } from '../testing/resource-builders.ts'

/** A node without a label, and no links. */
const BROKEN = `lab: { version: 0.3.0, title: BGP }
nodes:
  - { id: n0, node_definition: alpine, x: 0, y: 0 }
`

function course() {
  const captured = capturedShell()
  const { definitions } = captured.api
  const create = (...args: string[]) => run(['create', ...args], captured.shell)
  return { ...captured, definitions, create }
}

describe('create definition', () => {
  let dir = ''
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'lcm-cli-'))
  })
  afterEach(() => rm(dir, { recursive: true }))

  const file = async (text = LAB, name = 'BGP basics.yaml') => {
    const path = join(dir, name)
    await writeFile(path, text)
    return path
  }

  const NOTHING_RUNS_IT = 'warning: no template and no worker can run this lab now: no template is enabled\n'

  it('sends the topology unchanged, and takes the name from the file name', async () => {
    const { create, api, out } = course()
    expect(await create('definition', '--file', await file())).toBe(0)
    expect(api.bodies()).toEqual([{ name: 'bgp-basics', topology: LAB }])
    const [made] = await api.definitions.all()
    expect(out()).toBe(
      `definition bgp-basics 1.0.0 (${made?.id}) is ACTIVE: 1 CPU, 0.5 GB, 1 node, 1 port\n${NOTHING_RUNS_IT}`,
    )
  })

  it('accepts a name, a title and a maximum duration', async () => {
    const { create, api, out } = course()
    const options = ['--name', 'bgp', '--title', 'BGP', '--max-minutes', '120']
    expect(await create('definition', '-f', await file(), ...options, '-o', 'name')).toBe(0)
    expect(api.bodies()).toEqual([{ name: 'bgp', topology: LAB, title: 'BGP', max_duration_minutes: 120 }])
    expect(out()).toBe('bgp\n')
  })

  it('prints what is wrong with a topology, one line each', async () => {
    const { create, errLines } = course()
    expect(await create('definition', '--file', await file(BROKEN))).toBe(1)
    expect(errLines()).toEqual([
      "error: CML can't import this file: fix these lines and try again",
      expect.stringMatching(/^ {2}line 3: nodes\.0\.label: ./),
      expect.stringMatching(/^ {2}line 1: links: ./),
    ])
  })

  it('exits with 4 when the name is taken, with 2 without a name, with 1 without a file', async () => {
    const { create, definitions, err, api } = course()
    definitions.put(aDefinition({ name: 'bgp' }))
    expect(await create('definition', '--file', await file(), '--name', 'bgp')).toBe(4)
    const before = api.requests().length
    expect(await create('definition', '--file', await file(LAB, '---.yaml'))).toBe(2)
    expect(err()).toContain('set one with --name')
    expect(await create('definition', '--file', await file(' \n'))).toBe(1)
    expect(err()).toContain('BGP basics.yaml is empty: give the YAML of a lab')
    expect(await create('definition', '--file', '/nowhere.yaml')).toBe(1)
    expect(err()).toContain("/nowhere.yaml can't be read (ENOENT)")
    expect(api.requests()).toHaveLength(before)
  })
})
