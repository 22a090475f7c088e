import { reason } from '../../reason.ts'
import type { WorkerPolicy } from '../observation.ts'
import { CONDITION, type Worker } from '../worker.ts'
import { type Decision, hold } from './decision.ts'
import { judgeStart } from './launch.ts'

export type PowerActKind = 'start' | 'stop' | 'terminate'

/** The condition that a refused start, stop or termination sets. */
export const BLOCKED_CONDITION: Readonly<Record<PowerActKind, string>> = {
  start: CONDITION.blocked,
  stop: CONDITION.stopBlocked,
  terminate: CONDITION.terminateBlocked,
}

/** Error classes that last until an operator acts: a retry within seconds can't succeed. */
const LASTING: Readonly<Record<PowerActKind, readonly string[]>> = {
  start: ['capacity', 'quota', 'auth', 'protected', 'invalid'],
  stop: ['auth', 'protected', 'invalid'],
  terminate: ['auth', 'protected', 'invalid'],
}

/** A refusal may end in a thousand characters of an encoded authorization message. */
const REFUSAL_CHARS_MAX = 300

interface Refusal {
  readonly errorClass: string
  readonly code: string
  readonly message: string
}

/** The write when EC2 refuses a start, stop or termination until an operator acts; null when a retry may succeed. */
export function judgePower(
  worker: Worker,
  act: PowerActKind,
  refusal: Refusal,
  at: { policy: WorkerPolicy; nowMs: number },
): Decision | null {
  const { errorClass, code, message } = refusal
  if (!LASTING[act].includes(errorClass)) return null
  if (act === 'start' && !['protected', 'invalid'].includes(errorClass)) return judgeStart(worker, refusal, at)
  const type = BLOCKED_CONDITION[act]
  const known = worker.conditions.find(
    each => each.type === type && each.status && each.reason.params.aws_code === code,
  )
  // AWS words and encodes every refusal differently; the AWS error code tells whether it is still the same one.
  const because =
    known?.reason ??
    reason('ec2_refuses', {
      action: act,
      instance_id: worker.ec2_instance_id,
      aws_code: code,
      error: message.slice(0, REFUSAL_CHARS_MAX),
    })
  return hold(worker, { type, reason: because }, at.policy.authPauseMs, at.nowMs)
}
