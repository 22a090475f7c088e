import { expect, it } from 'vitest'
import { isFailed } from './request-log-card.tsx'

it('a call counts as failed when it was refused or hit a fault', () => {
  const call = { at: '', region: '', action: '', instance_ids: [], attempt: null, invocation_id: null, code: null }
  expect(isFailed({ ...call, status: 200, fault: null })).toBe(false)
  expect(isFailed({ ...call, status: 200, fault: 'lost_answer' })).toBe(true)
  expect(isFailed({ ...call, status: 503, fault: null })).toBe(true)
})
