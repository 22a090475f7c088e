import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aNotification } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

const file = (text: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-target-')), 'secret.txt')
  writeFileSync(path, text)
  return path
}

function operator() {
  const captured = capturedShell()
  const lcm = (...args: string[]) => run(args, captured.shell)
  const targets = () => captured.api.plane.all('notificationTargets')
  return { ...captured, lcm, targets }
}

async function withTarget() {
  const made = operator()
  const url = file('https://hooks.example.com/very-secret\n')
  expect(await made.lcm('create', 'target', 'ops', '--type', 'slack', '--url-file', url, '--severity', 'warning')).toBe(
    0,
  )
  return made
}

it('creates a target whose address is never shown', async () => {
  const { lcm, out, outLines, err, targets } = await withTarget()
  expect(outLines()).toEqual(['target ops created'])
  expect(err()).toBe('Send a test message with: lcm test target ops\n')
  expect(await targets()).toMatchObject([
    { name: 'ops', type: 'slack', min_severity: 'warning', url_host: 'hooks.example.com' },
  ])
  expect(await lcm('get', 'targets')).toBe(0)
  expect(outLines().slice(1)).toEqual([
    'NAME   TYPE    TO                  KINDS   SEVERITY   DELIVERED   QUEUED   LAST ERROR',
    'ops    slack   hooks.example.com   all     warning    never       0        -',
  ])
  await lcm('get', 'target', 'ops', '-o', 'json')
  expect(out()).not.toContain('very-secret')
})

it('creates a target for email with filters', async () => {
  const { lcm, targets } = operator()
  const filters = ['--kinds', 'session_ready,session_lost', '--definitions', 'ospf', '--owners', 'oidc:jane']
  expect(
    await lcm('create', 'target', 'class', '--type', 'email', '--to', 'a@example.com', '--to-owner', ...filters),
  ).toBe(0)
  expect(await targets()).toMatchObject([
    {
      to: ['a@example.com'],
      to_owner: true,
      kinds: ['session_ready', 'session_lost'],
      definitions: ['ospf'],
      owners: ['oidc:jane'],
      url_host: null,
    },
  ])
})

it.each([
  [['--type', 'slack'], 'a slack target needs its url'],
  [['--type', 'email'], 'an email target needs to, to_owner, or both'],
  [['--type', 'email', '--to', 'nowhere'], 'email address'],
  [['--type', 'webhook', '--to', 'a@example.com'], 'a webhook target has no email addresses'],
  [['--type', 'pigeon'], 'Allowed choices are webhook, slack, email'],
  [['--type', 'email', '--kinds', 'weather'], 'Give one or more of session_ready'],
])('refuses %j', async (args, message) => {
  const { lcm, err, targets } = operator()
  expect(await lcm('create', 'target', 'x', ...args)).not.toBe(0)
  expect(err()).toContain(message)
  expect(await targets()).toEqual([])
})

it('edits the given fields only', async () => {
  const { lcm, targets, err, outLines } = await withTarget()
  expect(await lcm('edit', 'target', 'ops', '--severity', 'critical', '--kinds', 'worker_failed')).toBe(0)
  expect(await targets()).toMatchObject([
    { min_severity: 'critical', kinds: ['worker_failed'], url_host: 'hooks.example.com' },
  ])
  expect(await lcm('edit', 'target', 'ops', '--kinds', '', '--url-file', file('https://other.example/x'))).toBe(0)
  expect(await targets()).toMatchObject([{ kinds: [], url_host: 'other.example' }])
  expect(await lcm('edit', 'target', 'ops', '--severity', 'critical', '--no-to-owner')).toBe(0)
  expect(outLines().at(-1)).toBe('target ops unchanged')
  expect(await lcm('edit', 'target', 'ops')).toBe(2)
  expect(err()).toContain('nothing to change')
})

it('says what became of a test message', async () => {
  const { lcm, err } = await withTarget()
  expect(await lcm('test', 'target', 'ops')).toBe(1)
  expect(err()).toContain('ops did not accept the test message: the connection failed')
  expect(await lcm('test', 'target', 'none')).toBe(3)
})

it('lists what was given up, retries and deletes it', async () => {
  const { lcm, api, outLines } = await withTarget()
  const given = { target_name: 'ops', target_type: 'slack' } as const
  await api.plane.put(
    'notifications',
    aNotification({ ...given, id: 'no-1' }),
    aNotification({ ...given, id: 'no-2', key: 'two' }),
  )
  await api.plane.put('notifications', aNotification({ ...given, id: 'no-3', key: 'three', status: 'DELIVERED' }))
  expect(await lcm('get', 'notifications', '-o', 'name')).toBe(0)
  expect(outLines().slice(1)).toEqual(['no-1', 'no-2'])
  expect(await lcm('retry', 'notification', 'no-1')).toBe(0)
  expect(await lcm('delete', 'notification', 'no-2')).toBe(0)
  expect(outLines().slice(3)).toEqual(['notification no-1 is QUEUED', 'notification no-2 deleted'])
  expect(await api.plane.all('notifications')).toMatchObject([
    { status: 'QUEUED', attempts: 0 },
    { status: 'DISCARDED' },
    { status: 'DELIVERED' },
  ])
})

it('deletes a target with its secret', async () => {
  const { lcm, api, targets } = await withTarget()
  expect(await lcm('delete', 'target', 'ops')).toBe(0)
  expect([await targets(), await api.plane.all('secrets')]).toEqual([[], []])
})
