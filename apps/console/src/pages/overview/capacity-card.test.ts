import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import { fleetCapacity } from '@lcm/domain/fleet/fleet-capacity'
import { NO_LICENSE } from '@lcm/domain/worker/worker-field-schemas'
import { aServingWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { limitText, percentText, usesOf, useText } from './capacity-card.tsx'

const reserved = { cpu_cores: 12, memory_gb: 48, storage_gb: 0, nodes: 4 }
const declared = { cpu_cores: 48, memory_gb: 192, storage_gb: 1000, max_nodes: 200 }

it('shows reservations as shares of what can be used', () => {
  const needs = { cpu_cores: 12, memory_gb: 48, storage_gb: 0, node_count: 4 }
  const busy = withReservation(
    aServingWorker({ capacity: { declared, reserved } }),
    'ls-1',
    needs,
    '2026-01-01T00:00:00.000Z',
  )
  const uses = usesOf(fleetCapacity([busy, aServingWorker()]))
  expect(uses.map(use => [use.name, use.reserved, use.usable, use.share])).toEqual([
    ['CPU', 12, 96, 0.125],
    ['Memory', 48, 384, 0.125],
    ['Storage', 0, 2000, 0],
    ['Nodes', 4, 40, 0.1],
  ])
  expect(usesOf(fleetCapacity([])).map(use => use.share)).toEqual([0, 0, 0, 0])
})

it('counts 5 nodes for a worker without a license (the trial found 35 of 940 where 55 was right)', () => {
  const unlicensed = Array.from({ length: 11 }, () => aServingWorker({ license: NO_LICENSE }))
  const capacity = fleetCapacity(unlicensed)
  const nodes = usesOf(capacity)[3]
  expect(nodes && useText(nodes)).toBe('0 of 55')
  expect(limitText(capacity)).toBe('The machines could run 2,200 nodes.')
})

it('says how many workers accept no sessions', () => {
  const cordoned = aServingWorker({ cordoned: true })
  expect(limitText(fleetCapacity([cordoned]))).toBe(
    '1 worker accepts no sessions now. The machines could run 200 nodes.',
  )
  expect(limitText(fleetCapacity([cordoned, cordoned]))).toMatch(/^2 workers accept no sessions now\./)
  const whole = { declared: { ...declared, max_nodes: 20 }, reserved }
  expect(limitText(fleetCapacity([aServingWorker({ capacity: whole })]))).toBe('')
})

it('formats it as text', () => {
  const [cpu] = usesOf(fleetCapacity([aServingWorker()]))
  expect(cpu && useText(cpu)).toBe('0 of 48 cores')
})

it('never shows a small share as zero', () => {
  const [use] = usesOf(fleetCapacity([]))
  const text = (share: number) => use && percentText({ ...use, share })
  expect([0, 0.004, 0.126, 1].map(text)).toEqual(['0 %', '< 1 %', '13 %', '100 %'])
})
