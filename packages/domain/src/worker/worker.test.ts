import { aTemplate } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { blankWorker, Worker, workerOfTemplate } from './worker.ts'

const NOW = '2026-01-01T00:00:00.000Z'

it('a new worker is complete', () => {
  const worker = blankWorker('w-1', NOW)
  expect(Worker.parse(worker)).toEqual(worker)
  expect(worker.state_history).toEqual([{ from: null, to: 'PENDING', at: NOW, because: reason('worker_created') }])
})

it('a new worker copies the fields of its template that must not change later', () => {
  const template = aTemplate({ name: 'metal', cost_per_hour_usd: 3.5, license_product: 'CML_Enterprise' })
  const worker = workerOfTemplate('w-0abcd', template, NOW)
  expect(Worker.parse(worker)).toEqual(worker)
  expect(worker).toMatchObject({
    name: 'metal-abcd',
    cost_per_hour_usd: 3.5,
    capacity: { declared: template.capacity },
    license: { product: 'CML_Enterprise', status: 'UNREGISTERED' },
  })
})
