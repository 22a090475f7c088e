import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { reason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { WORKER_POLICY } from '../observation.ts'
import type { Worker } from '../worker.ts'
import { judgePower, type PowerActKind } from './ec2-refusal.ts'

const NOW = toMs(onMachine().entered_status_at) + 60_000
const at = { policy: WORKER_POLICY, nowMs: NOW }
const refusal = (errorClass: string, message = 'no') => ({ errorClass, code: 'OperationNotPermitted', message })
const judged = (act: PowerActKind, errorClass: string, worker: Worker = onMachine({ status: 'STOPPING' })) =>
  judgePower(worker, act, refusal(errorClass), at)
const conditionIn = (decision: ReturnType<typeof judged>) =>
  decision?.action.kind === 'write' ? decision.action.changes.conditions?.at(-1) : undefined

describe('a refusal that lasts until an operator acts is a condition', () => {
  it.each<[PowerActKind, string, string]>([
    ['start', 'capacity', 'LaunchBlocked'],
    ['start', 'quota', 'LaunchBlocked'],
    ['start', 'auth', 'LaunchBlocked'],
    ['start', 'invalid', 'LaunchBlocked'],
    ['stop', 'protected', 'StopBlocked'],
    ['stop', 'auth', 'StopBlocked'],
    ['stop', 'invalid', 'StopBlocked'],
    ['terminate', 'protected', 'TerminateBlocked'],
    ['terminate', 'auth', 'TerminateBlocked'],
    ['terminate', 'invalid', 'TerminateBlocked'],
  ])('%s, %s: %s', (act, errorClass, type) => {
    expect(conditionIn(judged(act, errorClass))).toMatchObject({ type, status: true, since: toInstant(NOW) })
  })

  it.each<[PowerActKind, string]>([
    ['start', 'throttled'],
    ['start', 'transient'],
    ['start', 'state'],
    ['stop', 'throttled'],
    ['stop', 'transient'],
    ['stop', 'state'],
    ['stop', 'not_found'],
    ['terminate', 'transient'],
    ['terminate', 'not_found'],
  ])('%s, %s: none, a retry may succeed', (act, errorClass) => {
    expect(judged(act, errorClass)).toBeNull()
  })
})

it('sets one condition for a refused stop, however AWS words it the next time', () => {
  const worker = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })
  const first = judgePower(worker, 'stop', refusal('auth', 'encoded: aaaa'), at)
  const because = reason('ec2_refuses', {
    action: 'stop',
    instance_id: 'i-1',
    aws_code: 'OperationNotPermitted',
    error: 'encoded: aaaa',
  })
  expect(first?.because).toEqual(because)
  const condition = conditionIn(first)
  const reported = { ...worker, conditions: condition === undefined ? [] : [condition] }
  expect(judgePower(reported, 'stop', refusal('auth', 'encoded: bbbb'), { ...at, nowMs: NOW + 60_000 })).toEqual({
    action: { kind: 'wait', afterMs: WORKER_POLICY.authPauseMs },
    because,
    guards: [],
  })
})

describe('the condition of a refused action is over when EC2 has accepted the action', () => {
  const since = toInstant(NOW)
  const blocked = (type: string) => [
    {
      type,
      status: true,
      reason: reason('ec2_refuses', { action: 'stop', instance_id: 'i-1', aws_code: 'X', error: 'no' }),
      since,
    },
  ]
  it.each([
    ['STOPPING', 'STOPPED', 'StopBlocked', 'stopping'],
    ['STOPPING', 'STOPPED', 'StopBlocked', 'stopped'],
    ['TERMINATING', 'TERMINATED', 'TerminateBlocked', 'shutting-down'],
  ] as const)('%s, desired %s: no %s once EC2 reports %s', (status, desired_status, type, state) => {
    const worker = onMachine({ status, desired_status, conditions: blocked(type) })
    const { action } = decideWorker(worker, anObservation({ ec2: anEc2Observation({ state }) }), WORKER_POLICY, NOW)
    const changes = action.kind === 'write' ? action.changes : {}
    expect(changes.conditions?.map(each => each.type)).not.toContain(type)
    expect(changes.conditions).toBeDefined()
  })
})
