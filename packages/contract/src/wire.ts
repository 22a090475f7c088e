/** The API responds within this time, with `deadline_exceeded` at worst. Clients wait longer, so that they receive it. */
export const ANSWER_MS_MAX = 25_000

/** A request as `dispatch` and every transport see it. HTTP servers and clients only translate it. */
export interface ApiRequest {
  readonly method: string
  /** Path and query string, such as `/api/v1/workers?limit=10`. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The address of the caller; absent within a process. */
  readonly remote?: string
  /** Overrides the timeout for the head of the response. */
  readonly timeoutMs?: number
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal
}

export interface ApiResponse {
  readonly status: number
  /** Names in lower case. Several cookies in `set-cookie` are separated by line breaks. */
  readonly headers: Readonly<Record<string, string>>
  /** A stream ends when the signal of the request aborts or the server closes it. */
  readonly body: string | AsyncIterable<string> | null
  /** The body in UTF-8, if it is encoded already. The sender calls `done` so that the memory can be reused. */
  readonly bytes?: { readonly data: Uint8Array; done(): void }
  /** A file instead of a body. */
  readonly file?: AsyncIterable<Uint8Array>
}

export type Dispatch = (request: ApiRequest) => Promise<ApiResponse>

/** The term that a controller's write belongs to. */
export const EPOCH_HEADER = 'lcm-epoch'

/** Versions are sent as entity tags. */
export const toEtag = (version: number): string => `"${version}"`
export function fromEtag(etag: string): number | null {
  const match = /^(?:W\/)?"?(\d{1,15})"?$/.exec(etag.trim())
  return match ? Number(match[1]) : null
}
