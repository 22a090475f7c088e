import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { byCategory } from './placement-details.tsx'

it('groups refusals by category, most frequent first', () => {
  const refusal = (worker_id: string, category: 'status' | 'capacity') => ({
    worker_id,
    worker_name: worker_id,
    category,
    because: textReason('so'),
  })
  const groups = byCategory([refusal('a', 'capacity'), refusal('b', 'status'), refusal('c', 'status')])
  expect(groups.map(([category, items]) => [category, items.map(({ worker_id }) => worker_id)])).toEqual([
    ['status', ['b', 'c']],
    ['capacity', ['a']],
  ])
})
