import { aSimMachine } from '@lcm/client/testing/a-sim-machine'
import { expect, it } from 'vitest'
import { aDecision } from '../../testing/decision-builder.ts'
import { activeFaults, feedOf, isFailed, machineActions } from './machine-actions.ts'

it('machines offer the actions that EC2 allows', () => {
  expect(machineActions(aSimMachine({ state: 'running' }))).toEqual(['stop', 'reboot', 'terminate'])
  expect(machineActions(aSimMachine({ state: 'stopped' }))).toEqual(['start', 'terminate'])
  expect(machineActions(aSimMachine({ state: 'shutting-down' }))).toEqual([])
})

it('active faults are shown as text', () => {
  const plan = { lost_answer_rate: 0.1, server_error_rate: 0, stale_read_s: 30, request_limits: true }
  expect(activeFaults({ preset: 'hostile', plan, scarce: [], scripted: [] })).toEqual([
    '10 % of responses are lost after the call took effect',
  ])
})

it('user actions and decisions are listed newest first', () => {
  const userAction = { id: 'x', atMs: Date.parse('2026-01-02T03:04:06.000Z'), text: 'stopped' }
  const later = aDecision({ id: 'd-2', at: '2026-01-02T03:04:07.000Z' })
  const feed = feedOf([userAction], [later, aDecision()])
  expect(feed.map(item => ('userAction' in item ? item.userAction.id : item.decision.id))).toEqual(['d-2', 'x', 'd-1'])
})

it('a call counts as failed when it was refused or hit a fault', () => {
  const call = { at: '', region: '', action: '', instance_ids: [], attempt: null, invocation_id: null, code: null }
  expect(isFailed({ ...call, status: 200, fault: null })).toBe(false)
  expect(isFailed({ ...call, status: 200, fault: 'lost_answer' })).toBe(true)
  expect(isFailed({ ...call, status: 503, fault: null })).toBe(true)
})
