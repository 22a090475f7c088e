import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import type { Worker } from '@lcm/domain/worker/worker'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aTemplate } from '../testing/resource-builders.ts'

function course(...workers: readonly Worker[]) {
  const captured = capturedShell()
  captured.api.definitions.put(aDefinition())
  for (const worker of workers) captured.api.put(worker)
  return { ...captured, preview: (...args: string[]) => run(['preview', 'definition', ...args], captured.shell) }
}

const NEEDS = { cpu_cores: 12, memory_gb: 96, storage_gb: 10, node_count: 2 }
const half = withReservation(aServingWorker({ id: 'w-1', name: 'metal-1' }), 'ls-9', NEEDS, '2026-01-01T00:00:00.000Z')
const cordoned = aServingWorker({ id: 'w-2', name: 'metal-2', cordoned: true })

it('shows the outcome, the candidates and why other workers are rejected', async () => {
  const { preview, outLines } = course(half, cordoned)
  expect(await preview('two-routers')).toBe(0)
  expect(outLines()).toEqual([
    'A session of two-routers 1.0.0 that starts now would be placed on metal-1, as planned.',
    '',
    'Candidates, best first',
    '  WORKER    ID    SCORE   CPU          MEMORY',
    '  metal-1   w-1   0.39    25% -> 29%   50% -> 52%',
    '',
    'Rejected',
    '  WORKER    ID    CATEGORY   REASON',
    expect.stringMatching(/^ {2}metal-2 {3}w-2 {3}status {5}.*is cordoned$/),
  ])
})

it('shows whether a booking would be admitted, else the commands for the nearest times', async () => {
  const { preview, api, outLines } = course()
  api.putTemplate(aTemplate({ license_product: 'CML_Enterprise' }))
  const slot = ['--start', '2026-01-31T09:00Z', '--for', '30m']
  expect(await preview('two-routers', ...slot, '--seats', '20')).toBe(0)
  expect(outLines()).toEqual([
    '20 seats of two-routers 1.0.0 from 2026-01-31 09:00 UTC to 2026-01-31 09:30 UTC would be admitted.',
  ])
  const full = course()
  expect(await full.preview('two-routers', '--seats', '1')).toBe(0)
  expect(full.outLines()[0]).toMatch(/^1 seat of two-routers 1\.0\.0 from .* would be refused: No capacity at /)
})

it('omits empty sections, and prints the complete JSON for programs', async () => {
  const { preview, api, outLines } = course()
  api.putTemplate(aTemplate())
  expect(await preview('ld-1')).toBe(0)
  expect(outLines()).toEqual([
    expect.stringMatching(/^A session of two-routers 1\.0\.0 that starts now would start a scale-up: .+\.$/),
  ])
  const json = course(half, cordoned)
  expect(await json.preview('two-routers', '--json')).toBe(0)
  expect(JSON.parse(json.out())).toMatchObject({
    outcome: 'place',
    candidates: [{ worker_id: 'w-1', before: { cpu: 0.25, memory: 0.5 } }],
    refusals: [{ worker_id: 'w-2', category: 'status' }],
  })
})

it('exits with 3 for an unknown definition', async () => {
  expect(await course().preview('none')).toBe(3)
})
