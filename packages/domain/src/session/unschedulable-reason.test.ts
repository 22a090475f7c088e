import { expect, it } from 'vitest'
import { reason, textReason } from '../reason.ts'
import { unschedulable, unschedulableBecause } from './unschedulable-reason.ts'

it('has the code of its cause, whatever the messages of other reasons', () => {
  const cause = reason('no_template_enabled')
  expect(unschedulable(cause)).toMatchObject({ code: 'unschedulable', params: { cause } })
  expect(unschedulableBecause(unschedulable(cause))).toEqual(cause)
  const others = [null, textReason("can't be scheduled: no"), { code: 'unschedulable', message: 'x', params: {} }]
  expect(others.map(unschedulableBecause)).toEqual([null, null, null])
})
