import { expect, it } from 'vitest'
import { activeFaults } from './active-faults.ts'

it('active faults are shown as text', () => {
  const plan = { lost_answer_rate: 0.1, server_error_rate: 0, stale_read_s: 30, request_limits: true }
  expect(activeFaults({ preset: 'hostile', plan, scarce: [], scripted: [] })).toEqual([
    '10 % of responses are lost after the call took effect',
  ])
})
