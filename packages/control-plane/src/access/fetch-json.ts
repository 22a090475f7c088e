import type { Clock } from '@lcm/runtime/clock'

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

const ANSWER_MS_MAX = 5_000
const ANSWER_BYTES_MAX = 256 * 1024

/** Follows no redirect and limits time and size. Rejects beyond the limits. */
export async function fetchJson(
  { fetch, clock }: { fetch: Fetch; clock: Clock },
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; json: unknown }> {
  const deadline = new AbortController()
  const cancel = clock.after(ANSWER_MS_MAX, () => deadline.abort())
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: deadline.signal })
    return { status: response.status, json: JSON.parse(await textOf(response)) }
  } finally {
    cancel()
  }
}

async function textOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer has more than ${ANSWER_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
