import { createHash } from 'node:crypto'
import type { PowerAction } from '@lcm/cloud/compute'
import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { CloudError, isRateLimited } from '@lcm/cloud/errors'
import { assert } from '@lcm/domain/assert'
import { toInstant } from '@lcm/domain/instant'
import type { WorkerAction } from '@lcm/domain/worker/decision'
import type { LaunchParameters } from '@lcm/domain/worker/instance'
import type { LaunchOutcome } from '@lcm/domain/worker/launch'
import type { LaunchAttempt, Worker } from '@lcm/domain/worker/worker'

/** The attempt as it is stored before the cloud is asked, with its token, which people who may launch machines can't compute. */
export function openAttempt(
  worker: Worker,
  { n, parameters }: { n: number; parameters: LaunchParameters },
  { nowMs, launchSecret }: { nowMs: number; launchSecret: string },
): LaunchAttempt {
  const { subnet_id, instance_type } = parameters
  const what = `${worker.id}|${n}|${subnet_id}|${instance_type}`
  const client_token = createHash('sha256').update(`${launchSecret}${what}`).digest('hex')
  return { n, client_token, parameters, requested_at: toInstant(nowMs), state: 'open', error: null }
}

/** Asks for the machine of the open attempt. Every refusal of the cloud is an outcome, so that it can be judged. */
export async function launch(
  machines: BatchedCompute,
  worker: Worker,
  user_data: string | null,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const attempt = worker.launch
  assert(attempt?.state === 'open', `${worker.id} has no open attempt`)
  try {
    return { kind: 'launched', instance: await machines.launch(worker.aws_region, { ...attempt, user_data }, signal) }
  } catch (error) {
    if (!(error instanceof CloudError) || isRateLimited(error)) throw error
    const { errorClass, code } = error
    return { kind: 'refused', errorClass, code, message: error.message.slice(0, 1000) }
  }
}

export type MachineAction = Extract<WorkerAction, { kind: 'start' | 'stop' | 'terminate' }>

export function changeMachine(
  machines: BatchedCompute,
  worker: Worker,
  action: MachineAction,
  signal: AbortSignal,
): Promise<string> {
  const id = worker.ec2_instance_id
  assert(id !== null, `${worker.id} has no machine to ${action.kind}`)
  return machines.powerOne(worker.aws_region, actOf(action), id, signal)
}

const actOf = (action: MachineAction): PowerAction =>
  action.kind === 'stop' && action.force ? 'force_stop' : action.kind
