import { z } from 'zod'

/** The six states that EC2 documents. Any other name is kept as it came and maps to UNKNOWN. */
export const EC2_STATES = ['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'] as const
export type Ec2State = (typeof EC2_STATES)[number]

/** A machine as the cloud shows it at one moment. */
export interface Instance {
  readonly instance_id: string
  /** One of EC2_STATES, or whatever else the cloud said. */
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

/** Everything that a launch needs, fully rendered, so that repeating it repeats it exactly. */
export const LaunchParameters = z.object({
  image_id: z.string(),
  instance_type: z.string(),
  subnet_id: z.string(),
  /** Null leaves it to the subnet. */
  associate_public_ip: z.boolean().nullable().default(null),
  security_group_ids: z.array(z.string()),
  key_name: z.string().nullable(),
  root_device: z.string(),
  root_volume_gb: z.int().positive(),
  volume_encrypted: z.boolean(),
  iam_instance_profile: z.string().nullable(),
  nested_virtualization: z.boolean(),
  /** Which of its template's user data, so that a repeated launch hands over the same; the text itself is a secret. */
  user_data_ref: z.string().nullable().default(null),
  tags: z.record(z.string(), z.string()),
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

export const MANAGED_BY = 'lablet-cloud-manager'
