import type { AuditEntry } from '@lcm/domain/journal-records'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { anEntry, aWorker } from '../testing/resource-builders.ts'

const TWO = [
  anEntry({ id: 'a-2' }),
  anEntry({ id: 'a-1', at: '2025-12-30T00:00:00.000Z', actor: { id: 'admin', name: 'admin', role: 'admin' } }),
]

function audited(entries: readonly AuditEntry[] = TWO) {
  const captured = capturedShell()
  captured.api.setReplicas()
  captured.api.put(aWorker({ id: 'w-1', name: 'metal-1' }))
  captured.api.audit(...entries)
  return { ...captured, lcm: (...args: string[]) => run(['audit', ...args], captured.shell) }
}

it('shows actor, action, resource, changes and reason, newest first', async () => {
  const { lcm, outLines, err } = audited()
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual([
    'WHEN                       ACTOR            ACTION   RESOURCE         CHANGES AND REASON',
    '2026-01-01T00:00:00.000Z   ann (operator)   stop     worker metal-1   desired_status RUNNING -> STOPPED; over the weekend',
    '2025-12-30T00:00:00.000Z   admin            stop     worker metal-1   desired_status RUNNING -> STOPPED; over the weekend',
  ])
  expect(err()).toBe('')
})

it('summarizes a created resource instead of listing every field', async () => {
  const after = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`field_${n}`, n]))
  const { lcm, outLines } = audited([anEntry({ before: {}, after, reason: 'bought' })])
  await lcm()
  expect(outLines()[1]).toMatch(/field_5 5, 14 more fields; bought$/)
})

it('filters by time, actor and worker', async () => {
  const ids = async (...args: string[]) => {
    const { lcm, out } = audited()
    await lcm(...args, '-o', 'json')
    return JSON.parse(out()).items.map(({ id }: { id: string }) => id)
  }
  expect(await ids('--since', '24h')).toEqual(['a-2'])
  expect(await ids('--actor', 'Admin')).toEqual(['a-1'])
  expect(await ids('--actor', 'operator')).toEqual(['a-2'])
  expect(await ids('--worker', 'metal-1')).toEqual(['a-2', 'a-1'])
  expect(await ids('--actor', 'eve')).toEqual([])
})

it('reads to the end, or reports where it stopped', async () => {
  const { lcm, outLines, err } = audited(Array.from({ length: 600 }, (_, n) => anEntry({ id: `a-${n}` })))
  expect(await lcm('-o', 'name')).toBe(0)
  expect(outLines()).toHaveLength(600)
  expect(err()).toBe('')
  await lcm('-n', '260', '-o', 'name')
  expect(outLines()).toHaveLength(860)
  expect(err()).toBe(
    'showing only the newest 260 entries: raise --limit, or narrow the time with --since and --until\n',
  )
})

it('limits the search for an actor', async () => {
  const { lcm, out, err } = audited(Array.from({ length: 20_250 }, (_, n) => anEntry({ id: `a-${n}` })))
  expect(await lcm('--actor', 'eve', '-o', 'json')).toBe(0)
  expect(JSON.parse(out())).toEqual({ items: [], is_cut: true })
  expect(err()).toContain('only the newest 20000 entries were searched')
})

it('prints advice for an empty list', async () => {
  const { lcm, out, err } = audited()
  expect(await lcm('--actor', 'eve')).toBe(0)
  expect(out()).toBe('')
  expect(err()).toContain('omit --actor, --worker and --until')
  const empty = audited([])
  await empty.lcm()
  expect(empty.err()).toBe('the audit log is empty\n')
  await empty.lcm('--until', '2020-01-01')
  expect(empty.err()).toBe(`the audit log is empty\n${err()}`)
})
