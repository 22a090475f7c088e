import { classifyAwsCode } from '@lcm/cloud/aws-errors'
import { CloudError } from '@lcm/cloud/errors'
import { type CallLimits, DeadlineError, withinDeadline } from './deadline.ts'

/** Runs a call to the cloud so that it ends within its limits, and fails with a CloudError only. */
export async function cloudCall<Answer>(
  action: string,
  limits: CallLimits,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await withinDeadline(limits, call)
  } catch (error) {
    throw toCloudError(action, error)
  }
}

function toCloudError(action: string, error: unknown): CloudError {
  if (error instanceof CloudError) return error
  const code = codeOf(error)
  const message = error instanceof Error ? firstLine(textOf(error.message)) : String(error)
  return new CloudError(classifyAwsCode(code, statusOf(error)), { code, action, message, cause: error })
}

/** EC2 errors are told apart by name alone; a plain Error from the network says more in its `code`. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Unknown'
  if (error instanceof DeadlineError) return error.late ? 'TimeoutError' : 'AbortError'
  if (error.name !== 'Error') return textOf(error.name)
  return 'code' in error && typeof error.code === 'string' ? error.code : 'Unknown'
}

/** The SDK takes name and message of an error from the answer as they are there, and that may be no text. */
export const textOf = (said: unknown): string => (typeof said === 'string' ? said : 'Unknown')

const firstLine = (text: string) => text.split('\n')[0] ?? ''

/** The response can't be trusted, so nothing may be concluded from it. */
export const malformedResponse = (action: string, message: string): CloudError =>
  new CloudError('transient', { code: 'MalformedAnswer', action, message })

/** The SDK keeps the status of answers and errors alike in `$metadata`. */
export function statusOf(outcome: unknown): number | null {
  if (typeof outcome !== 'object' || outcome === null || !('$metadata' in outcome)) return null
  const metadata = outcome.$metadata
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return null
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null
}
