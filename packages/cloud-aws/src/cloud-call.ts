import { setMaxListeners } from 'node:events'
import { classifyAwsCode } from '@lcm/cloud/classify-aws-errors'
import { CloudError } from '@lcm/cloud/errors'
import type { Clock } from '@lcm/runtime/clock'

/** Runs a call to the cloud within its limits; it fails only with a CloudError. */
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

/** EC2 errors are identified by name; a plain Error from the network by its `code`. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Unknown'
  if (error instanceof DeadlineError) return error.late ? 'TimeoutError' : 'AbortError'
  if (error.name !== 'Error') return textOf(error.name)
  return 'code' in error && typeof error.code === 'string' ? error.code : 'Unknown'
}

/** The SDK copies name and message of an error from the response, so they may not be strings. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : 'Unknown')

const firstLine = (text: string) => text.split('\n')[0] ?? ''

/** The response can't be trusted, so nothing may be concluded from it. */
export const malformedResponse = (action: string, message: string): CloudError =>
  new CloudError('transient', { code: 'MalformedAnswer', action, message })

/** The SDK stores the status of responses and errors in `$metadata`. */
export function statusOf(outcome: unknown): number | null {
  if (typeof outcome !== 'object' || outcome === null || !('$metadata' in outcome)) return null
  const metadata = outcome.$metadata
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return null
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null
}

/** The caller ended the wait; whether the call has an effect is unknown. */
export class DeadlineError extends Error {
  override readonly name = 'GivenUp'
  readonly late: boolean

  constructor(message: string, late: boolean) {
    super(message)
    this.late = late
  }
}

export interface CallLimits {
  readonly clock: Clock
  readonly deadlineMs: number
  /** Whichever aborts first ends the wait. */
  readonly signals: readonly AbortSignal[]
}

/**
 * Waits for `run` until the deadline or a signal: some calls can't be canceled, such as a name lookup. Then it rejects
 * with GivenUp, and aborts the signal of `run`.
 */
export async function withinDeadline<Answer>(
  { clock, deadlineMs, signals }: CallLimits,
  run: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const abort = new AbortController()
  const cancel = () => abort.abort(new DeadlineError('it was canceled', false))
  const late = () => abort.abort(new DeadlineError(`no answer within ${deadlineMs} ms`, true))
  const cancelTimer = clock.after(deadlineMs, late)
  // Any number of calls may share a signal, and each removes its listener: a leak warning would be false.
  for (const signal of signals) {
    setMaxListeners(0, signal)
    signal.addEventListener('abort', cancel)
  }
  try {
    if (signals.some(signal => signal.aborted)) cancel()
    abort.signal.throwIfAborted()
    return await Promise.race([run(abort.signal), rejectedOnAbort(abort.signal)])
  } finally {
    cancelTimer()
    for (const signal of signals) signal.removeEventListener('abort', cancel)
  }
}

const rejectedOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

const PAGES_MAX = 1000

interface AnsweredPage<Item> {
  readonly items: Item[] | undefined
  readonly next: string | undefined
}

/** An empty 200 parses to no list at all. Treating it as "none" would mean that every machine is gone. */
export async function* allPages<Item>(
  action: string,
  page: (nextToken: string | undefined) => Promise<AnsweredPage<Item>>,
): AsyncGenerator<Item> {
  let token: string | undefined
  for (let count = 0; count < PAGES_MAX; count++) {
    const { items, next } = await page(token)
    if (!Array.isArray(items)) throw malformedResponse(action, 'an answer without a list')
    yield* items
    if (!next) return
    if (next === token) throw malformedResponse(action, 'the same page token twice')
    token = next
  }
  throw malformedResponse(action, `more than ${PAGES_MAX} pages`)
}
