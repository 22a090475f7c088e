import type { Instance as Ec2Instance, RunInstancesCommandInput, Tag } from '@aws-sdk/client-ec2'
import type { LaunchRequest } from '@lcm/cloud/compute'
import type { Instance } from '@lcm/domain/worker/instance'
import { malformedResponse } from '../cloud-call.ts'

const METADATA_HOPS = 2

/**
 * The same request for the same launch, to the byte: EC2 compares parameters when a token comes again.
 */
export function runInput({ client_token, parameters, user_data }: LaunchRequest): RunInstancesCommandInput {
  const tags = tagList(parameters.tags)
  return {
    MinCount: 1,
    MaxCount: 1,
    ClientToken: client_token,
    ImageId: parameters.image_id,
    InstanceType: instanceType(parameters.instance_type),
    ...networkOf(parameters),
    ...(parameters.key_name === null ? {} : { KeyName: parameters.key_name }),
    ...(parameters.iam_instance_profile === null
      ? {}
      : { IamInstanceProfile: profile(parameters.iam_instance_profile) }),
    BlockDeviceMappings: [
      {
        DeviceName: parameters.root_device,
        Ebs: {
          VolumeSize: parameters.root_volume_gb,
          VolumeType: 'gp3',
          Encrypted: parameters.volume_encrypted,
          DeleteOnTermination: true,
        },
      },
    ],
    MetadataOptions: { HttpEndpoint: 'enabled', HttpTokens: 'required', HttpPutResponseHopLimit: METADATA_HOPS },
    InstanceInitiatedShutdownBehavior: 'stop',
    ...(user_data === null ? {} : { UserData: Buffer.from(user_data).toString('base64') }),
    ...(parameters.nested_virtualization ? { CpuOptions: { NestedVirtualization: 'enabled' } } : {}),
    TagSpecifications: [
      { ResourceType: 'instance', Tags: tags },
      { ResourceType: 'volume', Tags: tags },
    ],
  }
}

/**
 * The subnet stays at the top level, where it makes the token zonal, unless something is to be said of the address: that is
 * a matter of the interface, and EC2 takes a subnet in only one of the two places.
 */
function networkOf({
  subnet_id,
  security_group_ids,
  associate_public_ip,
}: LaunchRequest['parameters']): Partial<RunInstancesCommandInput> {
  if (associate_public_ip === null) return { SubnetId: subnet_id, SecurityGroupIds: security_group_ids }
  const addressed = { DeviceIndex: 0, AssociatePublicIpAddress: associate_public_ip, DeleteOnTermination: true }
  return { NetworkInterfaces: [{ ...addressed, SubnetId: subnet_id, Groups: security_group_ids }] }
}

/** The SDK lists the types it knew at its birth; EC2 alone decides which there are. */
const instanceType = (name: string) => name as NonNullable<RunInstancesCommandInput['InstanceType']>

const profile = (nameOrArn: string) => (nameOrArn.startsWith('arn:') ? { Arn: nameOrArn } : { Name: nameOrArn })

const tagList = (tags: Readonly<Record<string, string>>): Tag[] =>
  Object.entries(tags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([Key, Value]) => ({ Key, Value }))

const INSTANCE_ID = /^i-[0-9a-f]+$/

export function toInstance(action: string, instance: Ec2Instance): Instance {
  const { InstanceId, State } = instance
  if (!InstanceId || !State?.Name) throw malformedResponse(action, 'an instance without an id or a state')
  if (!INSTANCE_ID.test(InstanceId)) throw malformedResponse(action, 'an instance with an id that is none')
  return {
    instance_id: InstanceId,
    state: State.Name,
    state_reason: instance.StateReason?.Code || null,
    instance_type: instance.InstanceType ?? '',
    image_id: instance.ImageId ?? '',
    availability_zone: instance.Placement?.AvailabilityZone ?? '',
    public_ip: instance.PublicIpAddress ?? null,
    private_ip: instance.PrivateIpAddress ?? null,
    public_dns: instance.PublicDnsName || null,
    private_dns: instance.PrivateDnsName || null,
    launched_at: (instance.LaunchTime ?? new Date(0)).toISOString(),
    client_token: instance.ClientToken || null,
    tags: Object.fromEntries((instance.Tags ?? []).map(tag => [tag.Key ?? '', tag.Value ?? ''])),
  }
}
