/** An EC2 error. The adapters convert it to error XML or a CloudError; nothing has changed. */
export class Ec2Refusal extends Error {
  override readonly name = 'Ec2Refusal'
  readonly code: string
  readonly status: number

  constructor(code: string, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** EC2's message for one id differs from that for several, and clients parse the ids from both. */
export function unknownInstances(ids: readonly string[]): Ec2Refusal {
  const message =
    ids.length === 1
      ? `The instance ID '${ids[0]}' does not exist`
      : `The instance IDs '${ids.join(', ')}' do not exist`
  return new Ec2Refusal('InvalidInstanceID.NotFound', message)
}

export const wrongState = (instanceId: string, act: 'started' | 'stopped' | 'rebooted'): Ec2Refusal =>
  new Ec2Refusal(
    'IncorrectInstanceState',
    `The instance '${instanceId}' is not in a state from which it can be ${act}.`,
  )

export const invalidValue = (message: string): Ec2Refusal => new Ec2Refusal('InvalidParameterValue', message)

/** Stop protection also guards against termination. */
export function notPermitted(
  instanceId: string,
  act: 'stopped' | 'terminated',
  byStop = act === 'stopped',
): Ec2Refusal {
  const attribute = byStop ? 'disableApiStop' : 'disableApiTermination'
  return new Ec2Refusal(
    'OperationNotPermitted',
    `The instance '${instanceId}' may not be ${act}. Modify its '${attribute}' instance attribute and try again.`,
  )
}
