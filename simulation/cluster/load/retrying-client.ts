import { randomUUID } from 'node:crypto'
import { apiClient, type Client, isProblem, UnreachableError } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import type { Dispatch } from '@lcm/contract/route-spec'
import { systemClock } from '@lcm/runtime/clock'

const PAUSE_MS = 20
/** Longer than the API waits for the response of a process that died. */
const TIMEOUT_MS = 60_000

/** Retries at the next replica when one does not respond or is busy. Idempotency keys apply each request once. */
export function retryingClient(urls: readonly string[], token: string): Client {
  const transports = urls.map(baseUrl => httpTransport({ baseUrl, clock: systemClock }))
  let attempt = 0
  const next = (key: string): Client => {
    const transport = transports[attempt % transports.length] ?? unreachable
    const headers = { 'idempotency-key': key }
    return apiClient(request => transport({ ...request, headers: { ...request.headers, ...headers } }), { token })
  }
  return {
    ...next(randomUUID()),
    async call(name, call) {
      const key = randomUUID()
      const deadline = systemClock.monotonic() + TIMEOUT_MS
      for (;;) {
        try {
          return await next(key).call(name, call)
        } catch (error) {
          if (!isPassing(error) || systemClock.monotonic() > deadline) throw error
          attempt += 1
          await systemClock.sleep(PAUSE_MS)
        }
      }
    },
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof UnreachableError ||
  isProblem(error, 'store_unavailable', 'deadline_exceeded', 'idempotency_in_progress')

const unreachable: Dispatch = async () => {
  throw new UnreachableError('there is no replica')
}
