import { throwIfTerminated } from '@lcm/cloud/aws-errors'
import type { Compute, LaunchRequest } from '@lcm/cloud/compute'
import type { Instance } from '@lcm/domain/worker/instance'
import type { AwsOptions } from '../aws-clients.ts'
import { cloudCall, malformedResponse } from '../cloud-call.ts'
import type { Ec2Call } from './clients.ts'
import { type Ec2Clients, ec2Clients, ec2Sdk } from './clients.ts'
import { runInput, toInstance } from './instance.ts'
import { imageIds, newestImage } from './list-images.ts'
import { describeInstances, listInstances } from './list-instances.ts'
import { POWER_ACTIONS, powerInstances } from './power.ts'

export type { AwsCall, AwsCredentials, AwsOptions } from '../aws-clients.ts'

/** A listing may take several pages with retries. A change is one attempt, a little longer than its own timeouts. */
const DEADLINES_MS = { read: 60_000, mutate: 20_000 } as const

/** The compute port on EC2. No region is talked to before it is named. */
export function awsCompute(options: AwsOptions): Compute & { close(): void } {
  const clients = ec2Clients(options)
  const calling =
    (kind: keyof Ec2Clients, action: string) =>
    <Answer>(region: string, signal: AbortSignal, call: (ec2: Ec2Call) => Promise<Answer>): Promise<Answer> =>
      cloudCall(action, { clock: options.clock, deadlineMs: DEADLINES_MS[kind], signals: [signal] }, until =>
        call({ client: clients.in(region)[kind], sdk: ec2Sdk(), signal: until }),
      )
  const describing = calling('read', 'DescribeInstances')
  const imaging = calling('read', 'DescribeImages')
  const launching = calling('mutate', 'RunInstances')
  const tagging = calling('mutate', 'CreateTags')
  return {
    list: (region, filter, signal) => describing(region, signal, ec2 => listInstances(ec2, filter)),
    describe: (region, ids, signal) => describing(region, signal, ec2 => describeInstances(ec2, ids)),
    newestImage: (region, wanted, signal) => imaging(region, signal, ec2 => newestImage(ec2, wanted)),
    imageIds: (region, pattern, signal) => imaging(region, signal, ec2 => imageIds(ec2, pattern)),
    launch: (region, request, signal) => launching(region, signal, ec2 => launch(ec2, request)),
    power: (region, act, ids, signal) =>
      calling('mutate', POWER_ACTIONS[act])(region, signal, ec2 => powerInstances(ec2, act, ids)),
    tag: (region, id, tags, signal) => tagging(region, signal, ec2 => tagInstance(ec2, id, tags)),
    close: clients.close,
  }
}

async function launch({ client, sdk, signal }: Ec2Call, request: LaunchRequest): Promise<Instance> {
  const answer = await client.send(new sdk.RunInstancesCommand(runInput(request)), { abortSignal: signal })
  const raw = answer.Instances?.[0]
  if (!raw) throw malformedResponse('RunInstances', 'an answer without an instance')
  const instance = toInstance('RunInstances', raw)
  throwIfTerminated(instance)
  return instance
}

async function tagInstance({ client, sdk, signal }: Ec2Call, id: string, tags: Readonly<Record<string, string>>) {
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }))
  await client.send(new sdk.CreateTagsCommand({ Resources: [id], Tags }), { abortSignal: signal })
}
