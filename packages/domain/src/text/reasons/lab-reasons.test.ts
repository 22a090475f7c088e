import { expect, it } from 'vitest'
import { type Reason, reason } from '../../reason.ts'
import { LAB_REASONS } from './lab-reasons.ts'

const ROWS: readonly [Reason, string][] = [
  [reason('lab_removed'), 'the lab was removed from CML'],
  [
    reason('lab_down', { worker: 'nested-1', status: 'STOPPING', restarting: true }),
    'the lab is down because nested-1 is restarting (STOPPING)',
  ],
  [
    reason('lab_down', { worker: 'nested-1', status: 'STOPPED', restarting: false }),
    'the lab is down because nested-1 is STOPPED',
  ],
  [
    reason('lab_state_unknown', { worker: 'nested-1', status: 'RUNNING' }),
    'the state of the lab is unknown: CML on nested-1 (RUNNING) does not answer',
  ],
  [
    reason('lab_stopped_by_restart', { worker: 'nested-1', restarted_at: '2026-01-02T03:04:05.678Z' }),
    'nested-1 was restarted at 2026-01-02T03:04:05.678Z; LCM starts the lab again',
  ],
  [
    reason('lab_restart_failed', { step: 'lab_start', error: 'no license' }),
    'the lab could not be started again: step lab_start: no license',
  ],
  [reason('lab_stopped_by_termination', { worker: 'nested-1' }), 'the lab is stopped because nested-1 is TERMINATING'],
  [
    reason('lab_stopped_on_cml', { state: 'STOPPED' }),
    'CML reports the lab as STOPPED: it was stopped on CML while its worker was running',
  ],
  [reason('lab_running', { state: 'STARTED' }), 'CML reports the lab as STARTED'],
]

it.each(ROWS.map(([each, message]) => [each.code, each.params, message, each.message] as const))(
  '%s %o: %s',
  (_code, _params, expected, message) => {
    expect(message).toBe(expected)
  },
)

it('has a row for every code', () => {
  const codes = new Set(ROWS.map(([{ code }]) => code))
  expect(Object.keys(LAB_REASONS).filter(code => !codes.has(code))).toEqual([])
})
