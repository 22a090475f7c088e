import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import { expect, it } from 'vitest'
import { shapeOf } from './status-icon-shape.ts'

it('gives every worker status its own shape', () => {
  expect(new Set(WORKER_STATUSES.map(status => shapeOf(status))).size).toBe(WORKER_STATUSES.length)
})
