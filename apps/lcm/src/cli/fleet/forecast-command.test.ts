import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { aTemplate } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aSession, START_MS } from '../testing/resource-builders.ts'

const HOUR_MS = 3_600_000
const NEEDS = { cpu_cores: 12, memory_gb: 12, storage_gb: 5, node_count: 0 }

/** Eight sessions tomorrow at 9:00, four of which fill a machine. */
function booked() {
  const captured = capturedShell()
  const { api } = captured
  api.putTemplate(aTemplate({ ...METAL, name: 'metal' }))
  api.putTemplate(aTemplate({ ...METAL, id: 'wt-nested', name: 'nested', cost_per_hour_usd: 1, enabled: false }))
  const definition = aDefinition({ needs: NEEDS, boot_lead_minutes: 5, node_definitions_required: [] })
  api.definitions.put(definition)
  const timeslot = { start: toInstant(START_MS + 33 * HOUR_MS), end: toInstant(START_MS + 35 * HOUR_MS) }
  const { id, name, definition_version: version } = definition
  for (let n = 0; n < 8; n += 1)
    api.sessions.put(
      aSession({
        id: `ls-${n}`,
        definition: { id, name, version },
        needs: NEEDS,
        timeslot,
        status: 'PENDING',
        worker_id: null,
      }),
    )
  return { ...captured, lcm: (...args: string[]) => run(['forecast', ...args], captured.shell) }
}

it('shows what is booked, machines, cost, late sessions and the least possible', async () => {
  const { lcm, outLines } = booked()
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual([
    'From 2026-01-01 00:00 UTC to 2026-01-08 00:00 UTC, if nothing more is booked or canceled:',
    '',
    'booked           8 sessions, at most 8 at once on Fri 2026-01-02 08:55 UTC',
    'machines         2 machines, at most 2 at once on Fri 2026-01-02 08:30 UTC; 5.1 h, 2 boots',
    'cost             $22.17: session $16.93, boot $1.73, idle $1.60, disk $1.90',
    'late             none; 8 sessions if a boot is slower than 999 of 1,000',
    'least possible   $18.27 on metal, without disks; the plan costs 1.11 times the least',
  ])
})

it('compares other settings and templates', async () => {
  const { lcm, outLines } = booked()
  expect(await lcm('--with', 'idle_action=pause', '--with', 'template=nested,min_workers=1')).toBe(0)
  expect(outLines().slice(-2)).toEqual([
    expect.stringMatching(/^with idle_action=pause +\$30\.17 +\+\$8\.00$/),
    expect.stringMatching(/^with template=nested,min_workers=1 +\$\d+\.\d\d +\+\$\d+\.\d\d$/),
  ])
})

it('warns about shortages ahead, with the fix', async () => {
  const { lcm, outLines } = booked()
  expect(await lcm('--days', '2', '--with', 'max_workers_per_region=1')).toBe(0)
  expect(outLines().at(-1)).toMatch(/4 would wait$/)
  const limited = booked()
  limited.api.seed(() => limited.api.plane.send('PATCH', 'settings', { json: { max_workers_per_region: 1 } }))
  expect(await limited.lcm()).toBe(0)
  expect(limited.outLines().at(-1)).toBe(
    '! Fri 2026-01-02 08:55 UTC: 4 sessions would wait. 2 workers are needed, and max_workers_per_region is 1. Raise it to 2.',
  )
})

it('prints instants as JSON for programs, and the names of machines', async () => {
  const { lcm, out } = booked()
  expect(await lcm('-o', 'json', '--with', 'min_workers=1')).toBe(0)
  expect(JSON.parse(out())).toMatchObject({
    at: '2026-01-01T00:00:00.000Z',
    booked: { sessions: 8, peak: 8, peak_at: '2026-01-02T08:55:00.000Z' },
    cost: { boots: 2, machines: 2, peak: 2 },
    shortages: [],
    machines: [
      {
        name: 'new metal 1',
        awake: [{ from: '2026-01-02T08:30:00.000Z' }],
        steps: [{ kind: 'buy' }, { kind: 'stop' }],
      },
      {},
    ],
    variants: [{ with: 'min_workers=1', difference_usd: expect.any(Number) }],
  })
  const names = booked()
  await names.lcm('-o', 'name')
  expect(names.outLines()).toEqual(['new metal 1', 'new metal 2'])
})

it('says what is wrong with other settings, and refuses a number of days that it can’t forecast', async () => {
  const { lcm, err } = booked()
  expect(await lcm('--with', 'template=gold')).toBe(2)
  expect(err()).toContain("can't use --with template=gold")
  expect(err()).toContain('There is no template gold. Templates: metal, nested.')
  expect(await lcm('--days', '99')).toBe(2)
})

it('is for operators', async () => {
  const { lcm, api } = booked()
  api.actAs({ role: 'user' })
  expect(await lcm()).toBe(5)
})

it('reports an empty calendar', async () => {
  const captured = capturedShell()
  expect(await run(['forecast'], captured.shell)).toBe(0)
  expect(captured.outLines().slice(2)).toEqual([
    'booked     no sessions',
    'machines   none',
    'cost       $0.00',
    'late       none',
  ])
})
