import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aSession, aWorker, START_MS } from '../testing/resource-builders.ts'

function spending() {
  const captured = capturedShell()
  const { api } = captured
  api.put(aWorker({ id: 'w-1', name: 'metal-1' }))
  api.spend('w-1', { cause: 'session', usd: 30, disk_usd: 2, saved_usd: 60 })
  api.spend('w-2', { cause: 'boot', usd: 4, saved_usd: 0 })
  api.spend('w-2', { cause: 'idle', usd: 6, saved_usd: 0 })
  return { ...captured, lcm: (...args: string[]) => run(['cost', ...args], captured.shell) }
}

it('shows the cost of each worker by cause, and what pausing saved, for the last seven days', async () => {
  const { lcm, outLines } = spending()
  expect(await lcm()).toBe(0)
  expect(outLines()).toEqual([
    'WORKER          SESSION    BOOT    IDLE   DRAIN    DISK    SPENT    SAVED',
    'metal-1          $30.00       -       -       -   $2.00   $32.00   $60.00',
    'w-2 (removed)         -   $4.00   $6.00       -       -   $10.00        -',
    'total            $30.00   $4.00   $6.00       -   $2.00   $42.00   $60.00',
    '',
    '$42.00 spent since 2025-12-25 00:00 UTC, 71% of it for sessions.',
    'Pausing idle workers saved $60.00, 59% of the cost without pausing.',
  ])
})

it('shows the cost of failed workers if there is any', async () => {
  const { lcm, api, outLines } = spending()
  api.spend('w-1', { cause: 'failed', usd: 1, saved_usd: 0 })
  await lcm()
  expect(outLines()[0]).toContain('DRAIN    DISK   FAILED    SPENT')
})

it('requests the given range, and prints JSON for programs', async () => {
  const { lcm, out } = spending()
  expect(await lcm('--since', '24h', '-o', 'json')).toBe(0)
  expect(JSON.parse(out())).toMatchObject({ since: '2025-12-31T00:00:00.000Z', spent_usd: 42 })
  const names = spending()
  await names.lcm('-o', 'name')
  expect(names.outLines()).toEqual(['metal-1', 'w-2'])
})

it('reports that nothing was spent, and refuses an invalid time', async () => {
  const captured = capturedShell()
  expect(await run(['cost'], captured.shell)).toBe(0)
  expect(captured.out()).toBe('No cost since 2025-12-25 00:00 UTC.\n')
  expect(await run(['cost', '--since', 'monday'], captured.shell)).toBe(2)
})

it('says how many workers have no known price', async () => {
  const { lcm, api, outLines } = spending()
  const billing = { since: '2025-12-31T23:00:00.000Z', cause: 'idle', closed_usd: 0 } as const
  api.put(aWorker({ id: 'w-3', name: 'found-1', cost_per_hour_usd: null, billing }))
  await lcm()
  expect(outLines()).toContainEqual(expect.stringMatching(/^found-1 +- +- +- +- +- +unknown +-$/))
  expect(outLines().at(-1)).toBe(
    'The sums are too low: for some of this time 1 worker had no known price. Name missing prices in the regions file.',
  )
})

const MINUTE_MS = 60_000
const ago = (minutes: number) => toInstant(START_MS - minutes * MINUTE_MS)

/** A lab of 50 minutes that cost two hours of a machine. */
function labAndMachine() {
  const captured = spending()
  const declared = { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 }
  const reserved = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 }
  captured.api.change('w-1', { template_name: 'metal', cost_per_hour_usd: 15, capacity: { declared, reserved } })
  const because = reason('timeslot_started')
  const state_history = [
    { from: 'SCHEDULED', to: 'INSTANTIATING', at: ago(60), because },
    { from: 'STOPPING', to: 'STOPPED', at: ago(10), because },
  ] as const
  const timeslot = { start: ago(60), end: ago(12) }
  captured.api.sessions.put(aSession({ status: 'ARCHIVED', timeslot, state_history: [...state_history] }))
  return captured
}

it('compares with the least that anyone could have paid', async () => {
  const { lcm, outLines } = labAndMachine()
  expect(await lcm()).toBe(0)
  expect(outLines().at(-1)).toBe(
    'Machines cost $40.00 for 1 lab, 2.67 times the least possible: no schedule on metal costs less than $15.00, ' +
      'and $15.00 could be carried out.',
  )
  const json = labAndMachine()
  await json.lcm('-o', 'json')
  expect(JSON.parse(json.out()).least).toMatchObject({ machine_usd: 40, bound_usd: 15, template_names: ['metal'] })
})

it('names the start of the comparison if ended sessions are not kept as long as costs', async () => {
  const { lcm, outLines } = labAndMachine()
  await lcm('--since', '90d')
  expect(outLines().at(-1)).toMatch(/^Since 2025-12-02 00:00 UTC: Machines cost \$40\.00/)
})

it('compares nothing for roles that may not read which labs ran', async () => {
  const { lcm, api, outLines, out } = labAndMachine()
  api.actAs({ role: 'user' })
  expect(await lcm()).toBe(0)
  expect(outLines().at(-1)).toMatch(/^Pausing idle workers saved/)
  expect(out()).not.toContain('least possible')
})
