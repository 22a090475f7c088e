import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROLES } from '@lcm/domain/actor'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aRunningWorker, aTemplate, aWorker, START_MS } from '../testing/resource-builders.ts'

function fleet(isTty = false) {
  const captured = capturedShell({ isTty })
  captured.api.putTemplate(aTemplate())
  const create = (...args: string[]) => run(['create', ...args], captured.shell)
  /** The worker that was created last. */
  const created = async () => (await captured.api.plane.all('workers')).at(-1) ?? aWorker()
  return { ...captured, create, created }
}

describe('create worker', () => {
  it('creates a worker without waiting', async () => {
    const { create, created, api, out } = fleet()
    expect(await create('worker', '-t', 'metal', '--name', 'mine', '--region', 'eu-west-1')).toBe(0)
    expect(out()).toBe(`mine (${(await created()).id}) created in eu-west-1; it will be RUNNING\n`)
    expect(api.bodies()).toEqual([{ template_name: 'metal', name: 'mine', aws_region: 'eu-west-1' }])
  })

  it('refuses the name of an existing worker, and accepts that of a terminated one', async () => {
    const { create, api, err } = fleet()
    api.put(aRunningWorker({ name: 'mine' }))
    expect(await create('worker', '-t', 'metal', '--name', 'mine')).toBe(4)
    expect(err()).toBe(
      'error: worker mine already exists (w-0abcdefgh0001, RUNNING): choose another name, or see `lcm get worker mine`\n',
    )
    expect(api.bodies()).toEqual([])
    expect(await create('worker', '-t', 'metal', '--name', 'min')).toBe(0)
    api.put(aRunningWorker({ name: 'mine', status: 'TERMINATED' }))
    expect(await create('worker', '-t', 'metal', '--name', 'mine')).toBe(0)
  })

  it('prints the worker for programs, and nothing when quiet', async () => {
    const json = fleet()
    await json.create('worker', '-t', 'metal', '-o', 'json')
    expect(JSON.parse(json.out()).id).toBe((await json.created()).id)
    const name = fleet()
    await name.create('worker', '-t', 'metal', '-o', 'name')
    expect(name.out()).toBe(`${(await name.created()).name}\n`)
    const quiet = fleet()
    expect(await quiet.create('worker', '-t', 'metal', '-q')).toBe(0)
    expect([quiet.out(), quiet.err()]).toEqual(['', ''])
  })

  it('shows each stage until CML is ready', async () => {
    const { create, created, api, clock, out, errLines } = fleet()
    const done = create('worker', '-t', 'metal', '--wait')
    await api.stream(1)
    const { id, name } = await created()
    await clock.advance(20_000)
    api.change(id, { status: 'STARTING', conditions: withBoot([], 1, START_MS) })
    await clock.advance(232_000)
    api.change(id, aRunningWorker({ id, name }))
    expect(await done).toBe(0)
    expect(errLines()).toEqual([
      `${name} (${id}) created in us-east-1; it will be RUNNING`,
      `    0s  ${name} is PENDING: waiting for launch`,
      `   20s  ${name} is STARTING: waiting for the CML port to open`,
    ])
    expect(out()).toBe(`${name} is RUNNING after 4m12s: https://203.0.113.7\n`)
  })

  it('prints the final worker once', async () => {
    const { create, created, api, out } = fleet()
    const done = create('worker', '-t', 'metal', '--wait', '-o', 'json', '-q')
    await api.stream(1)
    const { id } = await created()
    api.change(id, aRunningWorker({ id }))
    expect(await done).toBe(0)
    expect(JSON.parse(out()).status).toBe('RUNNING')
  })

  it('clears the progress line on a terminal', async () => {
    const { create, created, api, err } = fleet(true)
    const done = create('worker', '-t', 'metal', '--wait')
    await api.stream(1)
    const { id } = await created()
    api.change(id, aRunningWorker({ id }))
    await done
    expect(err().endsWith('\u001b[1A\r\u001b[0J')).toBe(true)
  })

  it('gives up after --timeout', async () => {
    const { create, api, clock, err } = fleet()
    const done = create('worker', '-t', 'metal', '--wait', '--timeout', '90s')
    await api.stream(1)
    await clock.advance(90_000)
    expect(await done).toBe(1)
    expect(err()).toContain('timed out after 1m30s')
  })

  it('prints each field that the API refuses', async () => {
    const { create, err } = fleet()
    expect(await create('worker', '-t', 'metal', '--name', 'my  lab')).toBe(1)
    expect(err()).toContain('error: invalid values: correct them and try again\n  name: words with one space')
  })

  it('exits with 3 when there is no such template', async () => {
    const { create, err } = fleet()
    expect(await create('worker', '-t', 'none')).toBe(3)
    expect(err()).toBe('error: template not found: list templates with `lcm get templates`\n')
  })
})

describe('create template', () => {
  let dir = ''
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'lcm-cli-'))
  })
  afterEach(() => rm(dir, { recursive: true }))

  const spec = WorkerTemplateSpec.strip().parse(aTemplate({ name: 'small' }))
  const file = async (text: string) => {
    const path = join(dir, 'template')
    await writeFile(path, text)
    return path
  }

  it('accepts YAML and JSON', async () => {
    const yaml = fleet()
    expect(await yaml.create('template', '-f', await file(stringify(spec)))).toBe(0)
    expect(yaml.out()).toMatch(/^template small \(wt-\w{13}\) created\n$/)
    const json = fleet()
    expect(await json.create('template', '-f', await file(JSON.stringify(spec)), '-o', 'name')).toBe(0)
    expect(json.out()).toBe('small\n')
    expect(json.api.bodies()).toEqual([spec])
  })

  it('prints each invalid field without calling the API', async () => {
    const { create, api, errLines } = fleet()
    expect(await create('template', '-f', await file('name: UPPER\ncolor: red'))).toBe(1)
    expect(errLines()).toContain('  name: lower-case letters, digits and dashes, 1 to 63 characters')
    expect(errLines().some(line => line.includes('color'))).toBe(true)
    expect(api.requests()).toEqual([])
  })

  it('refuses files that are missing or not YAML', async () => {
    const { create, err } = fleet()
    expect(await create('template', '-f', '/nowhere')).toBe(1)
    expect(err()).toBe("error: /nowhere can't be read (ENOENT): use -f with a YAML or JSON file\n")
    expect(await create('template', '-f', await file('a: [1'))).toBe(1)
  })

  it('exits with 4 when the name is taken', async () => {
    expect(await fleet().create('template', '-f', await file(stringify({ ...spec, name: 'metal' })))).toBe(4)
  })
})

it('prints a token with its secret for programs', async () => {
  const { shell, out } = capturedShell()
  expect(await run(['create', 'token', '--role', 'operator', '--name', 'ci', '-o', 'json'], shell)).toBe(0)
  expect(JSON.parse(out())).toMatchObject({
    id: expect.stringMatching(/^tk-\w{13}$/),
    secret: expect.stringMatching(/^lcm_[\w-]{20,}$/),
  })
})

it('describes the options of a token and the permissions of each role', async () => {
  const { shell, out } = capturedShell()
  expect(await run(['create', 'token', '--help'], shell)).toBe(0)
  const text = out().replaceAll(/\s+/g, ' ')
  expect(text).toContain('--name <name> What the token is for (required)')
  expect(text).toMatch(/--role <role> Role of the token, see below \(choices: [^)]+\) \(required\)/)
  for (const role of ROLES) expect(out()).toMatch(new RegExp(`^  ${role} +\\w`, 'm'))
})

it('creates a token with a lifetime', async () => {
  const { shell, api } = capturedShell()
  const create = (...args: string[]) => run(['create', 'token', '--role', 'user', '--name', 'ci', ...args], shell)
  expect(await create('--expires', '90d')).toBe(0)
  expect(api.bodies()).toEqual([{ name: 'ci', role: 'user', expires_at: '2026-04-01T00:00:00.000Z' }])
  expect(await create('--expires', 'soon')).toBe(2)
})

it('creates a token and prints only its secret', async () => {
  const { shell, out, err } = capturedShell()
  expect(await run(['create', 'token', '--role', 'operator', '--name', 'ci'], shell)).toBe(0)
  expect(out()).toMatch(/^lcm_[\w-]{20,}\n$/)
  expect(err()).toContain("Copy it now. It won't be shown again. Use it with --token or LCM_TOKEN")
  expect(err()).toMatch(/Revoke it with: lcm delete token tk-\w{13}/)
  expect(await run(['create', 'token', '--role', 'king', '--name', 'ci'], capturedShell().shell)).toBe(2)
})
