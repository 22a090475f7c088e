import { aServingWorker, aWorker } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { capacityOf, percentText, useText } from './capacity-card.tsx'

const reserved = { cpu_cores: 12, memory_gb: 48, storage_gb: 0, nodes: 20 }
const declared = { cpu_cores: 48, memory_gb: 192, storage_gb: 1000, max_nodes: 200 }

it('adds up the capacity and the reservations of running workers', () => {
  const uses = capacityOf([
    aServingWorker({ capacity: { declared, reserved } }),
    aServingWorker(),
    aServingWorker({ capacity: { declared: null, reserved: { ...reserved, nodes: 0 } } }),
    aWorker({ status: 'STOPPED', capacity: { declared, reserved } }),
  ])
  expect(uses.map(use => [use.name, use.reserved, use.declared, use.share])).toEqual([
    ['CPU', 24, 96, 0.25],
    ['Memory', 96, 384, 0.25],
    ['Storage', 0, 2000, 0],
    ['Nodes', 20, 400, 0.05],
  ])
})

it('has no share without capacity, and never more than 100 %', () => {
  expect(capacityOf([]).map(use => use.share)).toEqual([0, 0, 0, 0])
  const full = aServingWorker({ capacity: { declared, reserved: { ...reserved, cpu_cores: 60 } } })
  expect(capacityOf([full])[0]?.share).toBe(1)
})

it('formats it as text', () => {
  const [cpu, , , nodes] = capacityOf([aServingWorker()])
  expect(cpu && useText(cpu)).toBe('0 of 48 cores')
  expect(nodes && useText(nodes)).toBe('0 of 200')
})

it('never shows a small share as zero', () => {
  const [use] = capacityOf([])
  const text = (share: number) => use && percentText({ ...use, share })
  expect([0, 0.004, 0.126, 1].map(text)).toEqual(['0 %', '< 1 %', '13 %', '100 %'])
})
