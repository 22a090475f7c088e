import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { timingsOf } from '../calendar/timings.ts'
import { SETTING_DEFAULTS } from '../fleet/settings.ts'
import { toInstant } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import { expectedCapacity, nodesMax } from './free-capacity.ts'
import { schedule } from './scheduling.ts'

const NOW = Date.parse('2026-01-01T12:00:00.000Z')
const slot = { timeslot: { start: toInstant(NOW), end: toInstant(NOW + 3_600_000) } }
const needs = { cpu_cores: 40, memory_gb: 8, storage_gb: 1, node_count: 2 }
const template = (name: string, cost_per_hour_usd: number, license_product: string | null) =>
  aTemplate({
    name,
    cost_per_hour_usd,
    license_product,
    capacity: { cpu_cores: 48, memory_gb: 184, storage_gb: 150, max_nodes: 200 },
  })
const POOLED = template('pooled', 1, 'CML_Enterprise')
const EXHAUSTED = reason('license_pool_exhausted', { template: 'pooled', product: 'CML_Enterprise' })

/** Purchases for three sessions, each of which fills a machine, and why the others wait. */
function bought(templates: (typeof POOLED)[], free: number | null) {
  const { steps } = schedule({
    sessions: ['a', 'b', 'c'].map(id => aSession({ id, needs, ...slot })),
    definitions: new Map([['ld-1', aDefinition()]]),
    workers: [],
    templates,
    settings: SETTING_DEFAULTS,
    ...(free === null ? {} : { licenses: new Map([['CML_Enterprise', free]]) }),
    timings: timingsOf([]),
    region: 'us-east-1',
    leaving: new Map(),
    previous: null,
    nowMs: NOW,
  })
  const purchases = steps.flatMap(step => (step.kind === 'scale_up' ? [`${step.count} ${step.template_name}`] : []))
  const waiting = steps.flatMap(step => (step.kind === 'wait' ? [step] : []))
  return {
    purchases,
    refused: waiting.filter(({ because }) => JSON.stringify(because).includes('license_pool_exhausted')),
    forGood: waiting.some(step => step.forGood),
  }
}

it('buys as many machines of a product as its pool has free seats', () => {
  expect(bought([POOLED], 3).purchases).toEqual(['3 pooled'])
  const { purchases, refused, forGood } = bought([POOLED], 2)
  expect([purchases, refused.length, forGood]).toEqual([['2 pooled'], 1, false])
  const because: Reason = reason('no_capacity', { cause: reason('no_workers'), scale_up: EXHAUSTED })
  expect(bought([POOLED], 0).refused.map(step => step.because)).toEqual([because, because, because])
})

it('buys without limit where the product has no pool', () => {
  expect(bought([POOLED], null).purchases).toEqual(['3 pooled'])
})

it('buys a dearer machine that needs no seat once the pool is exhausted', () => {
  expect(bought([POOLED, template('free', 2, null)], 1).purchases).toEqual(['2 free', '1 pooled'])
})

it('expects 5 nodes on a worker that gets no seat of its pool', () => {
  const because = reason('no_license_seat', { product: 'CML_Enterprise', seats: 1, leaked: 0, stopped: null })
  const missing = { type: CONDITION.seatMissing, status: true, reason: because, since: toInstant(NOW) }
  const booting = aServingWorker({ status: 'STARTING', service_status: 'STARTING' })
  const wanting: Worker = {
    ...booting,
    license: { ...booting.license, product: 'CML_Enterprise', status: 'UNREGISTERED' },
  }
  expect(nodesMax(expectedCapacity(wanting).worker)).toBe(20)
  expect(nodesMax(expectedCapacity({ ...wanting, conditions: [missing] }).worker)).toBe(5)
})
