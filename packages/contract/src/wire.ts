/** The API has answered by then, be it that it could not in time. Clients wait longer, so that they do not miss it. */
export const ANSWER_MS_MAX = 25_000

/** A request as `dispatch` and every transport see it. HTTP servers and clients only translate to and from this. */
export interface ApiRequest {
  readonly method: string
  /** Path and query string, such as `/api/v1/workers?limit=10`. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The address that the request came from; absent within a process. */
  readonly remote?: string
  /** How long the answer may take to begin, where that is longer than usual. */
  readonly patienceMs?: number
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal
}

export interface ApiResponse {
  readonly status: number
  /** Names in lower case. Several cookies in `set-cookie` are separated by line breaks. */
  readonly headers: Readonly<Record<string, string>>
  /** A stream ends when the request's signal aborts or the server is done with it. */
  readonly body: string | AsyncIterable<string> | null
  /** The body in UTF-8, where it is at hand. Whoever sends it says when it is done: the memory is then used for others. */
  readonly bytes?: { readonly data: Uint8Array; done(): void }
  /** A file instead of a body. */
  readonly file?: AsyncIterable<Uint8Array>
}

export type Dispatch = (request: ApiRequest) => Promise<ApiResponse>

/** The term that a controller's write belongs to. */
export const EPOCH_HEADER = 'lcm-epoch'

/** Versions travel as entity tags. */
export const toEtag = (version: number): string => `"${version}"`
export function fromEtag(etag: string): number | null {
  const match = /^(?:W\/)?"?(\d{1,15})"?$/.exec(etag.trim())
  return match ? Number(match[1]) : null
}
