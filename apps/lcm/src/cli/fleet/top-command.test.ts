import { heldFrom, withReservation } from '@lcm/domain/calendar/worker-ledger'
import type { Worker } from '@lcm/domain/worker/worker'
import { NO_ACTIVITY, NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { NO_METRICS } from '@lcm/testkit/observation-builders'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { type CapturedOptions, capturedShell } from '../testing/captured-shell.ts'
import type { CliApi } from '../testing/in-memory-api.ts'
import { aRunningWorker, aSession, aWorker, START_MS } from '../testing/resource-builders.ts'

const START = new Date(START_MS).toISOString()
const AN_HOUR_AGO = new Date(START_MS - 3_600_000).toISOString()
const RUNNING = { billing: { since: AN_HOUR_AGO, cause: 'idle', closed_usd: 1 } } as const
const EPOCH = 3
const PLACE = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(START) }

const aBusyWorker = (name: string, more: Partial<Worker> = {}) =>
  aRunningWorker({ id: `w-${name}`, name, ec2_instance_id: `i-${name}`, ...RUNNING, ...more })

/** With two labs, and as busy as the controllers have reported. */
function putMeasured({ put, seed, plane }: CliApi, name: string, cpu: number, more: Partial<Worker> = {}): void {
  const worker = aBusyWorker(name, more)
  put(worker)
  seed(() => {
    const body = { ...NO_METRICS, collected_at: START, cpu_utilization: cpu, memory_utilization: 100 - cpu }
    return plane.others('worker-controller').call('reportWorkerMetrics', { params: { id: worker.id }, body })
  })
  seed(() => {
    const facts = { title: 'a lab', owner: null, state: 'STARTED', node_count: 2, link_count: 1 }
    const labs = ['a', 'b'].map(lab_id => ({ lab_id, ...facts }))
    const body = { worker_id: worker.id, began_at: START, is_complete: true, labs }
    return plane.others('lablet-controller').call('discoverLabs', { body, epoch: EPOCH })
  })
}

function fleet(options: CapturedOptions = {}) {
  const captured = capturedShell(options)
  const { api } = captured
  putMeasured(api, 'metal-10', 20, { reservations: { 'ls-1': PLACE } })
  putMeasured(api, 'metal-9', 80, { activity: { ...NO_ACTIVITY, idle_since: AN_HOUR_AGO } })
  api.put(aWorker({ id: 'w-3', name: 'metal-3', status: 'STOPPED', desired_status: 'STOPPED' }))
  api.sessions.put(aSession())
  return { ...captured, lcm: (...args: string[]) => run(['top', ...args], captured.shell) }
}

it('prints one table without a terminal', async () => {
  const { lcm, outLines } = fleet()
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual([
    '3 workers: 2 RUNNING, 1 STOPPED  ·  $7.92 per hour  ·  1 session: 1 PENDING',
    'NAME       STATUS    CPU   MEMORY   LABS   SESSIONS   COST/H   SPENT   IDLE',
    'metal-9    RUNNING   80%      20%      2          0    $3.96   $4.96     1h',
    'metal-10   RUNNING   20%      80%      2          1    $3.96   $4.96      -',
    'metal-3    STOPPED     -        -      -          0    $0.00   $0.00      -',
  ])
})

it('shows an unknown price as unknown, never as 0', async () => {
  const { api, lcm, out, outLines } = fleet()
  api.put(aBusyWorker('found', { cost_per_hour_usd: null, billing: { ...RUNNING.billing, closed_usd: 0 } }))
  api.put(aBusyWorker('resized', { cost_per_hour_usd: null }))
  await lcm()
  const rowOf = (name: string) => outLines().find(line => line.startsWith(name))
  expect(rowOf('found')).toMatch(/unknown\s+unknown\s+-$/)
  expect(rowOf('resized')).toMatch(/unknown\s+\$1\.00\s+-$/)
  expect(outLines().at(-1)).toBe('2 workers have no known price.')
  const before = out().length
  await lcm('-o', 'json')
  expect(JSON.parse(out().slice(before)).items).toContainEqual(
    expect.objectContaining({ name: 'found', per_hour_usd: null, spent_usd: null }),
  )
})

it('counts the nodes that can be used: 5 for a worker without a license, none on one that accepts no sessions', async () => {
  const { api, lcm, outLines } = fleet()
  const declared = { cpu_cores: 48, memory_gb: 184, storage_gb: 150, max_nodes: 200 }
  const capacity = { ...aServingWorker().capacity, declared }
  const needs = { cpu_cores: 2, memory_gb: 2, storage_gb: 2, node_count: 2 }
  const busy = (more: Partial<Worker>) =>
    withReservation(aServingWorker({ capacity, ...more }), 'ls-9', needs, '2026-01-01T00:00:00.000Z')
  api.put(busy({ id: 'w-4', license: NO_LICENSE }))
  api.put(busy({ id: 'w-5', cordoned: true }))
  expect(await lcm()).toBe(0)
  expect(outLines()[0]).toContain('  ·  4 of 7 nodes reserved  ·  ')
})

const USER = { id: 'bob', name: 'bob', role: 'user' } as const

it('counts no sessions for users without access to those of others, and explains why', async () => {
  const { lcm, api, out, outLines } = fleet()
  api.sessions.change('ls-1', { owner: USER.id })
  api.actAs(USER)
  expect(await lcm()).toBe(0)
  expect(outLines()[0]).toBe('3 workers: 2 RUNNING, 1 STOPPED  ·  $7.92 per hour  ·  1 session (yours): 1 PENDING')
  expect(outLines()[3]).toMatch(/^metal-10 +RUNNING +20% +80% +2 +- /)
  expect(outLines().at(-1)).toBe('SESSIONS is empty because only operators and admins can see the sessions of others.')
  const before = out().length
  expect(await lcm('-o', 'json')).toBe(0)
  expect(JSON.parse(out().slice(before))).toMatchObject({ items: [{ sessions: null }, { sessions: null }, {}] })
})

it('explains it on a terminal too, in the available width', async () => {
  const { done, press, screen } = await live({ rows: 7, columns: 120 }, api => {
    api.actAs(USER)
  })
  expect(screen()).toHaveLength(7)
  expect(screen()[5]).toMatch('SESSIONS is empty because only operators and admins can see the sessions of others.')
  expect(screen().at(-1)).toContain('… and 1 more')
  press('q')
  await done
})

it('shows the status after a drain', async () => {
  const { lcm, api, out } = fleet()
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const drain = { requested_at: START, by: 'ann', reason: '', then: 'TERMINATED' as const, deadline: START }
  api.change('w-metal-9', { status: 'DRAINING', drain })
  expect(await lcm()).toBe(0)
  expect(out()).toContain('DRAINING -> TERMINATED')
})

it.each([
  ['cpu', ['metal-9', 'metal-10', 'metal-3']],
  ['memory', ['metal-10', 'metal-9', 'metal-3']],
  ['cost', ['metal-9', 'metal-10', 'metal-3']],
  ['idle', ['metal-9', 'metal-3', 'metal-10']],
  ['name', ['metal-3', 'metal-9', 'metal-10']],
])('sorts by %s', async (sort, names) => {
  const { lcm, outLines } = fleet()
  expect(await lcm('--sort', sort, '-o', 'name')).toBe(0)
  expect(outLines()).toEqual(names)
})

it('prints JSON for programs, even on a terminal', async () => {
  const { lcm, out } = fleet({ isTty: true })
  expect(await lcm('-o', 'json')).toBe(0)
  expect(JSON.parse(out())).toMatchObject({
    workers: { total: 3, by_status: { RUNNING: 2, STOPPED: 1 } },
    sessions: { total: 1 },
    items: [{ name: 'metal-9', cpu: 80, idle_seconds: 3600 }, { name: 'metal-10' }, { name: 'metal-3', cpu: null }],
  })
})

it('prints advice when there are no workers', async () => {
  const { shell, out, err } = capturedShell()
  expect(await run(['top'], shell)).toBe(0)
  expect(out()).toBe('0 workers  ·  $0.00 per hour  ·  0 sessions\n')
  expect(err()).toContain('lcm create worker --template NAME')
})

type Api = ReturnType<typeof fleet>['api']
const HOME = '\u001b[H'
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences of a terminal.
const CONTROLS = /\u001b\[[0-9;?]*[A-Za-z]/g

/** A terminal with the live view on it; `screen` is what was drawn last. */
async function live(options: CapturedOptions = {}, prepare: (api: Api) => void = () => undefined) {
  const captured = fleet({ isTty: true, ...options })
  prepare(captured.api)
  const done = captured.lcm('--no-color')
  await captured.api.stream(1)
  const screen = () => {
    const frame = captured.out().split(HOME).at(-1) ?? ''
    return frame.replaceAll(CONTROLS, '').trimEnd().split('\r\n')
  }
  return { ...captured, done, screen }
}

it('shows the whole fleet on a terminal of unknown size', async () => {
  const { done, press, screen } = await live({ rows: 0, columns: 0 })
  expect(screen().map(line => line.split(' ')[0])).toEqual(expect.arrayContaining(['metal-9', 'metal-10', 'metal-3']))
  expect(screen().at(-1)).not.toContain('more')
  press('q')
  expect(await done).toBe(0)
})

it('updates from events and measurements', async () => {
  const { api, clock, done, press, screen } = await live()
  expect(screen()[3]).toMatch(/^metal-9 +RUNNING +80%/)
  const sample = { worker_id: 'w-metal-10', sample: aSample(99) }
  api.tell({ type: 'metrics.batch', at: START, data: [sample] })
  api.change('w-3', { status: 'STARTING', desired_status: 'RUNNING' })
  api.sessions.change('ls-1', { status: 'ARCHIVED' })
  await clock.advance(500)
  expect(screen()[0]).toContain('2 RUNNING')
  expect(screen()[0]).toContain('0 sessions')
  expect(screen()[3]).toMatch(/^metal-10 +RUNNING +99%/)
  expect(screen().join('\n')).toContain('metal-3    STARTING -> RUNNING')
  api.remove('w-3')
  await clock.advance(500)
  expect(screen().join('\n')).not.toContain('metal-3')
  press('q')
  expect(await done).toBe(0)
})

const aSample = (cpu: number) => ({
  ...NO_METRICS,
  collected_at: new Date(START_MS + 1000).toISOString(),
  cpu_utilization: cpu,
})

it.each([
  ['q', ({ press }: Awaited<ReturnType<typeof live>>) => press('q')],
  ['Ctrl-C', ({ press }: Awaited<ReturnType<typeof live>>) => press('\u0003')],
  ['a signal', ({ interrupt }: Awaited<ReturnType<typeof live>>) => interrupt()],
])('ends on %s and restores the terminal', async (_, leave) => {
  const top = await live()
  expect(top.out()).toContain('\u001b[?1049h')
  leave(top)
  expect(await top.done).toBe(0)
  expect(top.out().endsWith('\u001b[?7h\u001b[?25h\u001b[?1049l')).toBe(true)
  expect(top.isListening()).toBe(false)
})

it('fits the terminal, also after it is made smaller', async () => {
  const { clock, done, press, resize, screen } = await live({ rows: 7, columns: 80 })
  expect(screen()).toHaveLength(7)
  resize({ rows: 6, columns: 34 })
  await clock.advance(500)
  expect(screen()).toEqual([
    '3 workers: 2 RUNNING, 1 STOPPED',
    '$7.92 per hour',
    '1 session: 1 PENDING',
    '',
    'NAME      STATUS    CPU   MEMORY',
    'metal-9   RUNNING   80%      20%',
  ])
  resize({ rows: 24, columns: 120 })
  await clock.advance(500)
  expect(screen()[2]).toContain('IDLE')
  press('q')
  await done
})

it('shows how many workers do not fit', async () => {
  const { done, press, screen } = await live({ rows: 6, columns: 100 })
  expect(screen().at(-1)).toBe('… and 1 more  ·  sorted by cpu; q quits')
  press('n')
  expect(screen()[3]).toMatch(/^metal-3 /)
  expect(screen().at(-1)).toContain('by name')
  press('q')
  await done
})

it('marks its data as stale while the API is unreachable', async () => {
  const { api, clock, done, press, screen } = await live()
  api.crash()
  await clock.advance(5_000)
  expect(screen().at(-1)).toContain('API unreachable, retrying')
  api.change('w-3', { name: 'metal-33' })
  api.restart()
  await clock.advance(5_000)
  expect(screen().at(-1)).not.toContain('unreachable')
  expect(screen().join('\n')).toContain('metal-33')
  press('q')
  await done
})

it('fails at once when the API does not respond, without touching the terminal', async () => {
  const { lcm, api, out } = fleet({ isTty: true })
  api.crash()
  expect(await lcm()).toBe(6)
  expect(out()).toBe('')
})
