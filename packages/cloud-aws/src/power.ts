import type { InstanceStateChange } from '@aws-sdk/client-ec2'
import type { PowerAct, PowerOutcome } from '@lcm/cloud/compute'
import { powerEach } from '@lcm/cloud/compute-power'
import type { CloudError } from '@lcm/cloud/errors'
import { unreadable } from './cloud-call.ts'
import type { Ec2Call } from './ec2-clients.ts'

export const POWER_ACTIONS: Readonly<Record<PowerAct, string>> = {
  start: 'StartInstances',
  stop: 'StopInstances',
  force_stop: 'StopInstances',
  terminate: 'TerminateInstances',
}

/** Makes one call of EC2 within its limits, and fails with a CloudError only. */
type Calling = <Answer>(call: (ec2: Ec2Call) => Promise<Answer>) => Promise<Answer>

/** Each call has its own deadline: what earlier ones did is known by then, whatever becomes of the last. */
export async function powerInstances(
  act: PowerAct,
  instanceIds: readonly string[],
  calling: Calling,
  signal: AbortSignal,
): Promise<PowerOutcome> {
  const outcome = new Map<string, string | CloudError>()
  const call = (ids: readonly string[]) => calling(async ec2 => statesOf(act, await changesOf(ec2, act, ids)))
  await powerEach(instanceIds, call, (id, answer) => outcome.set(id, answer), signal)
  return outcome
}

async function changesOf(
  { client, sdk, signal }: Ec2Call,
  act: PowerAct,
  ids: readonly string[],
): Promise<InstanceStateChange[] | undefined> {
  const InstanceIds = [...ids]
  const until = { abortSignal: signal }
  switch (act) {
    case 'start':
      return (await client.send(new sdk.StartInstancesCommand({ InstanceIds }), until)).StartingInstances
    case 'stop':
      return (await client.send(new sdk.StopInstancesCommand({ InstanceIds }), until)).StoppingInstances
    case 'force_stop':
      return (await client.send(new sdk.StopInstancesCommand({ InstanceIds, Force: true }), until)).StoppingInstances
    case 'terminate':
      return (await client.send(new sdk.TerminateInstancesCommand({ InstanceIds }), until)).TerminatingInstances
  }
}

/** Success is judged by what the answer says of each machine, never by the status alone. */
function statesOf(act: PowerAct, changes: InstanceStateChange[] | undefined): ReadonlyMap<string, string> {
  if (!Array.isArray(changes)) throw unreadable(POWER_ACTIONS[act], 'an answer without a list')
  return new Map(
    changes.flatMap(({ InstanceId, CurrentState }) =>
      InstanceId && CurrentState?.Name ? [[InstanceId, CurrentState.Name] as const] : [],
    ),
  )
}
