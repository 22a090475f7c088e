/** One AWS permission that LCM needs. */
export interface IamAction {
  /** Action name in a policy. */
  readonly action: string
  readonly purpose: string
  /** Null if every fleet needs it, else which ones do. */
  readonly onlyWhere: string | null
}

/** All AWS permissions of LCM. `lcm doctor` tests these, and the policy of docs/how-to/run-on-aws.md grants them. */
export const IAM_ACTIONS = [
  { action: 'ec2:DescribeInstances', purpose: 'to see its machines', onlyWhere: null },
  { action: 'ec2:DescribeImages', purpose: 'to find the image of a template', onlyWhere: null },
  { action: 'ec2:RunInstances', purpose: 'to launch workers', onlyWhere: null },
  { action: 'ec2:CreateTags', purpose: 'to mark what it launches as its own, and to rename it', onlyWhere: null },
  { action: 'ec2:StartInstances', purpose: 'to start workers', onlyWhere: null },
  { action: 'ec2:StopInstances', purpose: 'to stop workers', onlyWhere: null },
  { action: 'ec2:TerminateInstances', purpose: 'to terminate workers', onlyWhere: null },
  { action: 'cloudwatch:GetMetricData', purpose: 'to measure how busy workers are', onlyWhere: null },
  { action: 'iam:PassRole', purpose: 'to give machines a role', onlyWhere: 'a template has an iam_instance_profile' },
  { action: 's3:GetObject', purpose: 'to fetch topologies', onlyWhere: 'a definition has an s3:// source' },
] as const satisfies readonly IamAction[]

export type IamActionName = (typeof IAM_ACTIONS)[number]['action']
