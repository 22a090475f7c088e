import { toInstant } from '@lcm/domain/instant'
import { reason, textReason } from '@lcm/domain/reason'
import { asView } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import type { CliApi } from '../testing/in-memory-api.ts'
import {
  aDefinition,
  aLab,
  aReadySession,
  aRunningWorker,
  aSession,
  aTemplate,
  aWorker,
  START_MS,
} from '../testing/resource-builders.ts'

async function got(...args: string[]) {
  const captured = capturedShell()
  captured.api.put(aRunningWorker())
  captured.api.put(aWorker({ id: 'w-2', name: 'metal-2' }))
  captured.api.put(aWorker({ id: 'w-3', name: 'metal-2', status: 'TERMINATED' }))
  captured.api.putTemplate(aTemplate())
  return { code: await run(['get', ...args], captured.shell), ...captured }
}

it('lists workers, and with --all also TERMINATED ones', async () => {
  expect((await got('workers')).outLines()).toHaveLength(3)
  expect((await got('workers', '--all')).outLines()).toHaveLength(4)
})

it('also lists lost workers, unless another has replaced them', async () => {
  const { shell, api, outLines } = capturedShell()
  const ended = aWorker({ status: 'TERMINATED' })
  api.put({ ...ended, id: 'w-1', name: 'lost' })
  api.put({ ...ended, id: 'w-2', name: 'paused', desired_status: 'STOPPED' })
  api.put({ ...ended, id: 'w-3', name: 'ended', desired_status: 'TERMINATED' })
  api.put({ ...ended, id: 'w-4', name: 'metal-1' })
  api.put(aRunningWorker({ id: 'w-5', name: 'metal-1' }))
  expect(await run(['get', 'workers'], shell)).toBe(0)
  expect(
    outLines()
      .slice(1)
      .map(line => line.split(/ {3,}/).slice(1, 3)),
  ).toEqual([
    ['w-5', 'RUNNING'],
    ['w-1', 'TERMINATED (lost)'],
    ['w-2', 'TERMINATED (lost)'],
  ])
})

it('shows one by id or name', async () => {
  expect((await got('worker', 'metal-1')).outLines()).toHaveLength(2)
  expect((await got('workers', 'w-2', '-o', 'name')).out()).toBe('metal-2\n')
  expect(JSON.parse((await got('worker', 'metal-1', '-o', 'json')).out())).toEqual(asView(aRunningWorker()))
  expect(parse((await got('worker', 'metal-1', '-o', 'yaml')).out())).toEqual(asView(aRunningWorker()))
})

it('prints lists for programs', async () => {
  expect(JSON.parse((await got('workers', '-o', 'json')).out()).items).toHaveLength(2)
  expect(parse((await got('workers', '-o', 'yaml')).out()).items).toHaveLength(2)
  expect((await got('workers', '-o', 'name')).outLines()).toEqual(['metal-1', 'metal-2'])
})

it('prints ids where names are not unique, so that every line is valid input', async () => {
  expect((await got('workers', '--all', '-o', 'name')).outLines()).toEqual(['metal-1', 'w-2', 'w-3'])
})

it('lists templates', async () => {
  expect((await got('templates')).outLines()[1]).toMatch(/^metal {3}/)
  expect((await got('template', 'metal', '-o', 'name')).out()).toBe('metal\n')
})

it('exits with 3 for an unknown name', async () => {
  const { code, err } = await got('worker', 'metal-9')
  expect(code).toBe(3)
  expect(err()).toBe('error: worker metal-9 not found: list all with `lcm get workers --all`\n')
  expect((await got('template', 'none')).code).toBe(3)
})

it('prints advice for an empty list, but not to programs', async () => {
  const empty = capturedShell()
  expect(await run(['get', 'workers'], empty.shell)).toBe(0)
  expect([empty.out(), empty.err()]).toEqual([
    '',
    'no workers found: create one with `lcm create worker --template NAME`\n',
  ])
  const json = capturedShell()
  await run(['get', 'workers', '-o', 'json'], json.shell)
  expect(JSON.parse(json.out())).toEqual({ items: [] })
})

async function gotLablets(...args: string[]) {
  const captured = capturedShell()
  const { definitions, sessions, labs } = captured.api
  definitions.put(aDefinition())
  definitions.put(aDefinition({ id: 'ld-0', definition_version: '0.9.0', status: 'DEPRECATED' }))
  sessions.put(aReadySession())
  sessions.put(aSession({ id: 'ls-0', status: 'ARCHIVED' }))
  labs.put(aLab())
  labs.put(aLab({ id: 'lr-0', lab_id: 'lab-0', status: 'DELETED' }))
  return { code: await run(['get', ...args], captured.shell), ...captured }
}

it.each([
  ['definitions', 'two-routers', ['ld-0', 'ld-1']],
  ['sessions', 'ls-1', ['ls-0', 'ls-1']],
  ['labs', 'lr-1', ['lr-0', 'lr-1']],
])('lists %s, and with --all also finished ones', async (plural, name, all) => {
  expect((await gotLablets(plural)).outLines()).toHaveLength(2)
  expect((await gotLablets(plural, '-o', 'name')).out()).toBe(`${name}\n`)
  expect((await gotLablets(plural, '--all', '-o', 'name')).outLines()).toEqual(all)
  expect(JSON.parse((await gotLablets(plural, '-o', 'json')).out()).items).toHaveLength(1)
  expect(parse((await gotLablets(plural, '--all', '-o', 'yaml')).out()).items).toHaveLength(2)
})

it('shows workers by name, including new ones', async () => {
  const { shell, api, clock, interrupt, outLines } = capturedShell()
  api.put(aRunningWorker({ id: 'w-1', name: 'metal-1' }))
  api.labs.put(aLab({ worker_id: 'w-1' }))
  api.sessions.put(aReadySession({ worker_id: 'w-1' }))
  expect(await run(['get', 'labs'], shell)).toBe(0)
  expect(outLines().at(-1)).toContain('metal-1')
  const done = run(['get', 'sessions', '--watch'], shell)
  await api.stream(1)
  expect(outLines().at(-1)).toContain('metal-1')
  api.put(aRunningWorker({ id: 'w-2', name: 'metal-2', ec2_instance_id: 'i-2' }))
  api.sessions.change('ls-1', { worker_id: 'w-2' })
  await clock.advance(0)
  expect(outLines().at(-1)).toContain('metal-2')
  interrupt()
  expect(await done).toBe(0)
})

it('explains how to list finished sessions when there are no others', async () => {
  const { shell, api, err } = capturedShell()
  expect(await run(['get', 'sessions'], shell)).toBe(0)
  expect(err()).toContain('book one with `lcm book DEFINITION`')
  api.sessions.put(aSession({ status: 'ARCHIVED' }))
  expect(await run(['get', 'sessions'], shell)).toBe(0)
  expect(err()).toContain('all sessions are finished: list them with `lcm get sessions --all`')
})

it('shows one definition with its topology, one session, one lab', async () => {
  expect(parse((await gotLablets('definition', 'two-routers', '-o', 'yaml')).out())).toMatchObject(aDefinition())
  expect(JSON.parse((await gotLablets('session', 'ls-1', '-o', 'json')).out())).toEqual(aReadySession())
  expect(JSON.parse((await gotLablets('lab', 'BGP basics', '-o', 'json')).out())).toEqual(aLab())
  expect((await gotLablets('session', 'ls-9')).code).toBe(3)
})

it.each([
  ['definitions', (api: CliApi) => api.definitions.change('ld-1', { status: 'DEPRECATED' })],
  ['sessions', (api: CliApi) => api.sessions.change('ls-1', { status: 'TERMINATED' })],
  ['labs', (api: CliApi) => api.labs.change('lr-1', { status: 'DELETED' })],
] as const)('keeps %s up to date', async (plural, end) => {
  const { shell, api, clock, interrupt, outLines } = capturedShell()
  api.definitions.put(aDefinition())
  api.sessions.put(aSession())
  api.labs.put(aLab())
  const done = run(['get', plural, '--watch', '-o', 'json'], shell)
  await api.stream(1)
  end(api)
  await clock.advance(0)
  end(api)
  await clock.advance(0)
  interrupt()
  expect(await done).toBe(0)
  expect(outLines().map(line => JSON.parse(line).version)).toEqual([1, 2])
})

it('watches one session until its record is deleted', async () => {
  const { shell, api, err } = capturedShell()
  api.sessions.put(aSession())
  const done = run(['get', 'session', 'ls-1', '--watch'], shell)
  await api.stream(1)
  api.sessions.remove('ls-1')
  expect(await done).toBe(3)
  expect(err()).toContain('session ls-1 was deleted')
})

it('lists what is down or degraded only, on request', async () => {
  const { shell, api, out, outLines } = capturedShell()
  const silent = aRunningWorker({
    id: 'w-2',
    name: 'silent',
    ec2_instance_id: 'i-2',
    service_status: 'UNAVAILABLE',
  })
  api.put(aRunningWorker())
  api.put(silent)
  const health = { status: 'DOWN' as const, reason: textReason('its machine is gone'), since: aSession().created_at }
  api.sessions.put(aReadySession({ id: 'ls-2', health }))
  expect(await run(['get', 'workers', '--health', 'DOWN', '-o', 'name'], shell)).toBe(0)
  expect(await run(['get', 'sessions', '--health', 'DOWN'], shell)).toBe(0)
  expect(out()).toMatch(/^silent\nID /)
  expect(outLines().at(-1)).toMatch(/^ls-2 .* DOWN .* its machine is gone$/)
})

it('tells learners what they can do about their session, not what operators read', async () => {
  const { shell, api, outLines } = capturedShell()
  const because = reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' })
  const health = { status: 'DEGRADED' as const, reason: because, since: aSession().created_at }
  api.sessions.put(aReadySession({ owner: 'bob', health }))
  api.actAs({ id: 'bob', name: 'bob', role: 'user' })
  expect(await run(['get', 'sessions'], shell)).toBe(0)
  expect(outLines().at(-1)).toMatch(/LCM can't see whether your lab is running\. Keep working if your lab responds\./)
  expect(outLines().at(-1)).not.toContain('metal-1 does not answer')
})

it('says how old the status of a lab is when its worker does not serve it', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(aRunningWorker({ service_status: 'UNAVAILABLE' }))
  api.labs.put(aLab({ status: 'BOOTED', last_seen_at: toInstant(START_MS - 13 * 60_000) }))
  expect(await run(['get', 'labs'], shell)).toBe(0)
  expect(outLines().at(-1)).toContain('BOOTED, last seen 13m ago')
})
