import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aWorker } from '../testing/resource-builders.ts'

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
