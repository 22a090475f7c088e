import { z } from 'zod'

/** The six states that EC2 documents. Any other name is kept as it came and maps to UNKNOWN. */
export const EC2_STATES = ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'] as const
export type Ec2State = (typeof EC2_STATES)[number]

/** A machine as the cloud reported it. */
export interface Instance {
  readonly instance_id: string
  /** One of EC2_STATES, or any other name that the cloud reported. */
  readonly state: string
  /** Why it is in that state, such as `Server.InsufficientInstanceCapacity`. */
  readonly state_reason: string | null
  readonly instance_type: string
  readonly image_id: string
  readonly availability_zone: string
  readonly public_ip: string | null
  readonly private_ip: string | null
  /** The names that EC2 gives to these two addresses; null where it gives none. */
  readonly public_dns: string | null
  readonly private_dns: string | null
  /** When it was last started, not when it was made. */
  readonly launched_at: string
  readonly client_token: string | null
  readonly tags: Readonly<Record<string, string>>
}

export const LaunchParameters = z
  .object({
    image_id: z.string().meta({ description: 'The AMI.', example: 'ami-0a1b2c3d4e5f60718' }),
    instance_type: z.string().meta({ description: 'The EC2 instance type.', example: 'm5zn.metal' }),
    subnet_id: z.string().meta({ description: 'The subnet.', example: 'subnet-0a1b2c3d4e5f60718' }),
    associate_public_ip: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ description: 'Whether it gets a public IP address; null uses the subnet setting.' }),
    security_group_ids: z
      .array(z.string())
      .meta({ description: 'The security groups.', example: ['sg-0a1b2c3d4e5f60718'] }),
    key_name: z.string().nullable().meta({ description: 'The SSH key pair.', example: null }),
    root_device: z.string().meta({ description: 'The name of the root device.', example: '/dev/sda1' }),
    root_volume_gb: z.int().positive().meta({ description: 'The size of the root volume in GB.', example: 200 }),
    volume_encrypted: z.boolean().meta({ description: 'Whether the root volume is encrypted.', example: true }),
    iam_instance_profile: z.string().nullable().meta({ description: 'The IAM instance profile.', example: null }),
    nested_virtualization: z
      .boolean()
      .meta({ description: 'Whether nested virtualization is enabled.', example: false }),
    user_data_ref: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The revision of the template user data. The text itself is a secret.' }),
    tags: z
      .record(z.string(), z.string())
      .meta({ description: 'EC2 tags of the machine.', example: { Name: 'training-1' } }),
  })
  .meta({
    id: 'LaunchParameters',
    description: 'The arguments of the EC2 launch call, fully rendered, so that a repeated call is identical.',
  })
export type LaunchParameters = z.infer<typeof LaunchParameters>

export const TAG = {
  name: 'Name',
  workerId: 'lcm:worker_id',
  templateName: 'lcm:template_name',
  managedBy: 'lcm:managed_by',
  fleet: 'lcm:fleet',
  discovery: 'cml-managed',
  endpoint: 'cml-endpoint',
} as const

/** EC2 sets it. Users can't set or change tags that begin with `aws:`. */
export const LAUNCH_TEMPLATE_TAG = 'aws:ec2launchtemplate:id'

export const MANAGED_BY = 'lablet-cloud-manager'
