import type { InstanceStateChange } from '@aws-sdk/client-ec2'
import type { PowerAction, PowerStates } from '@lcm/cloud/compute'
import { malformedResponse } from '../cloud-call.ts'
import type { Ec2Call } from './clients.ts'

export const POWER_ACTIONS: Readonly<Record<PowerAction, string>> = {
  start: 'StartInstances',
  stop: 'StopInstances',
  force_stop: 'StopInstances',
  terminate: 'TerminateInstances',
}

/** Success is judged by what the answer says of each machine, never by the status alone. */
export async function powerInstances(ec2: Ec2Call, act: PowerAction, ids: readonly string[]): Promise<PowerStates> {
  const changes = await changesOf(ec2, act, ids)
  if (!Array.isArray(changes)) throw malformedResponse(POWER_ACTIONS[act], 'an answer without a list')
  return new Map(
    changes.flatMap(({ InstanceId, CurrentState }) =>
      InstanceId && CurrentState?.Name ? [[InstanceId, CurrentState.Name] as const] : [],
    ),
  )
}

async function changesOf(
  { client, sdk, signal }: Ec2Call,
  act: PowerAction,
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
