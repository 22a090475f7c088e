import type { InstanceStateChange } from '@aws-sdk/client-ec2'
import { refuseDeadMachine } from '@lcm/cloud/aws-errors'
import type { Compute, LaunchRequest, StopRequest } from '@lcm/cloud/compute'
import type { Instance } from '@lcm/domain/worker/instance'
import { runInput, toInstance } from './aws-instance.ts'
import { cloudCall, unreadable } from './cloud-call.ts'
import { type Ec2ClientsOptions, ec2Clients, type RegionClients } from './ec2-clients.ts'
import { describeInstances, type Ec2Call, listInstances, newestImage } from './listing.ts'

export type { AwsCall, AwsCredentials } from './ec2-clients.ts'

/** A listing may take several pages with retries. A change is one attempt, a little longer than its own timeouts. */
const DEADLINES_MS = { read: 60_000, mutate: 20_000 } as const

/** The compute port on EC2. No region is talked to before it is named. */
export function awsCompute(options: Ec2ClientsOptions): Compute & { close(): void } {
  const clients = ec2Clients(options)
  const calling =
    (kind: keyof RegionClients, action: string) =>
    <Answer>(region: string, signal: AbortSignal, call: (ec2: Ec2Call) => Promise<Answer>): Promise<Answer> =>
      cloudCall(action, { clock: options.clock, deadlineMs: DEADLINES_MS[kind], signals: [signal] }, until =>
        call({ client: clients.in(region)[kind], sdk: clients.sdk(), signal: until }),
      )
  const describing = calling('read', 'DescribeInstances')
  const imaging = calling('read', 'DescribeImages')
  const launching = calling('mutate', 'RunInstances')
  const starting = calling('mutate', 'StartInstances')
  const stopping = calling('mutate', 'StopInstances')
  const terminating = calling('mutate', 'TerminateInstances')
  return {
    list: (region, filter, signal) => describing(region, signal, ec2 => listInstances(ec2, filter)),
    describe: (region, ids, signal) => describing(region, signal, ec2 => describeInstances(ec2, ids)),
    newestImage: (region, wanted, signal) => imaging(region, signal, ec2 => newestImage(ec2, wanted)),
    launch: (region, request, signal) => launching(region, signal, ec2 => launch(ec2, request)),
    start: (region, id, signal) => starting(region, signal, ec2 => start(ec2, id)),
    stop: (region, request, signal) => stopping(region, signal, ec2 => stop(ec2, request)),
    terminate: (region, id, signal) => terminating(region, signal, ec2 => terminate(ec2, id)),
    close: clients.close,
  }
}

async function launch({ client, sdk, signal }: Ec2Call, request: LaunchRequest): Promise<Instance> {
  const answer = await client.send(new sdk.RunInstancesCommand(runInput(request)), { abortSignal: signal })
  const raw = answer.Instances?.[0]
  if (!raw) throw unreadable('RunInstances', 'an answer without an instance')
  const instance = toInstance('RunInstances', raw)
  refuseDeadMachine(instance)
  return instance
}

async function start({ client, sdk, signal }: Ec2Call, id: string): Promise<string> {
  const answer = await client.send(new sdk.StartInstancesCommand({ InstanceIds: [id] }), { abortSignal: signal })
  return stateNamed('StartInstances', answer.StartingInstances, id)
}

async function stop({ client, sdk, signal }: Ec2Call, { instance_id, force }: StopRequest): Promise<string> {
  const command = new sdk.StopInstancesCommand({ InstanceIds: [instance_id], ...(force ? { Force: true } : {}) })
  const answer = await client.send(command, { abortSignal: signal })
  return stateNamed('StopInstances', answer.StoppingInstances, instance_id)
}

async function terminate({ client, sdk, signal }: Ec2Call, id: string): Promise<string> {
  const answer = await client.send(new sdk.TerminateInstancesCommand({ InstanceIds: [id] }), { abortSignal: signal })
  return stateNamed('TerminateInstances', answer.TerminatingInstances, id)
}

/** Success is judged by what the answer says of this machine, never by the status alone. */
function stateNamed(action: string, changes: InstanceStateChange[] | undefined, id: string): string {
  const state = changes?.find(change => change.InstanceId === id)?.CurrentState?.Name
  if (state === undefined) throw unreadable(action, `an answer that does not speak of ${id}`)
  return state
}
