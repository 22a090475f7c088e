import { toInstant } from '@lcm/domain/instant'
import { type Reason, textReason } from '@lcm/domain/reason'
import { type LabletSession, SESSION_STATUSES } from '@lcm/domain/session/lablet-session'
import { unschedulable } from '@lcm/domain/session/unschedulable-reason'
import { expect, it } from 'vitest'
import { aReadySession, aSession, START_MS } from '../testing/resource-builders.ts'
import type { Verdict } from '../wait-for-goal.ts'
import { BY_ID } from '../worker/worker-names.ts'
import { judge, sessionSettling, timeoutFor } from './session-wait-goal.ts'

const judged = (kind: Verdict['kind'], goal: LabletSession['desired_status']) =>
  SESSION_STATUSES.filter(status => judge(aSession({ status, desired_status: goal }), goal).kind === kind)

it('ends once the session is accessible', () => {
  expect(judged('reached', 'RUNNING')).toEqual(['READY', 'RUNNING'])
  expect(judged('under_way', 'RUNNING')).toEqual(['PENDING', 'SCHEDULED', 'INSTANTIATING'])
})

it('ends only when a canceled session is over', () => {
  expect(judged('reached', 'TERMINATED')).toEqual(['ARCHIVED', 'TERMINATED'])
  expect(judged('impossible', 'TERMINATED')).toEqual([])
})

it("reports why the status can't be reached", () => {
  const canceled = aSession({ desired_status: 'TERMINATED', desired_by: 'eve' })
  expect(judge(canceled, 'RUNNING')).toMatchObject({ because: 'was canceled by eve' })
  const failed = aSession({ status: 'STOPPING', last_error: 'converged: r1 never booted' })
  expect(judge(failed, 'RUNNING')).toMatchObject({ because: 'is STOPPING: converged: r1 never booted' })
  const expired = aSession({
    status: 'EXPIRED',
    state_history: [
      { from: 'PENDING', to: 'EXPIRED', at: toInstant(START_MS), because: textReason('its time is over') },
    ],
  })
  expect(judge(expired, 'RUNNING')).toMatchObject({ because: 'is EXPIRED: its time is over' })
})

it('does not wait for a session that no worker could ever host', () => {
  const waiting = (waiting_reason: Reason) => judge(aSession({ waiting_reason }), 'RUNNING')
  expect(waiting(unschedulable(textReason('metal lacks iosv')))).toEqual({
    kind: 'impossible',
    because: "can't be placed without a change: metal lacks iosv",
    advice: 'it stays booked, cancel it with `lcm cancel session ls-1`',
  })
  expect(waiting(textReason('8 GB are needed')).kind).toBe('under_way')
})

it('waits until 45 minutes after the slot starts, up to the timer maximum', () => {
  const inMs = (ms: number) => aSession({ timeslot: { start: toInstant(START_MS + ms), end: '' } })
  expect(timeoutFor(inMs(-60_000), START_MS)).toBe(45 * 60_000)
  expect(timeoutFor(inMs(3_600_000), START_MS)).toBe(105 * 60_000)
  expect(timeoutFor(inMs(90 * 86_400_000), START_MS)).toBeLessThan(2 ** 31)
})

it('ends with the slot and the access addresses, if there are any', () => {
  const { sentence, lines } = sessionSettling(BY_ID).outcome(aReadySession(), '2m', START_MS - 600_000)
  expect(sentence).toBe('session ls-1 is READY after 2m: it starts in 10m and ends in 1h10m')
  expect(lines).toHaveLength(3)
  expect(sessionSettling(BY_ID).outcome(aReadySession({ access: [] }), '2m', START_MS)).toEqual({
    sentence: 'session ls-1 is READY after 2m: it ends in 1h; its lab publishes no ports',
    lines: [],
  })
})
