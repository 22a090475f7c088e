/** One call of the CML API, over HTTPS or in process. */
export interface CmlRequest {
  readonly method: string
  /** Below `/api/v0`, such as `/labs`. */
  readonly path: string
  readonly query: URLSearchParams
  /** From the `Authorization: Bearer` header. */
  readonly token: string | null
  readonly body: string
}

export interface CmlAnswer {
  readonly status: number
  /** Sent as JSON; undefined sends no body. */
  readonly body?: unknown
  /** Sent unchanged instead of JSON. */
  readonly text?: string
  /** Content type of `text`; plain by default. */
  readonly content_type?: string
  /** Delay of the response. */
  readonly held_ms?: number
}

/** An error response of CML. Nothing has changed. */
export class CmlRefusal extends Error {
  override readonly name = 'CmlRefusal'
  readonly status: number

  constructor(status: number, description: string) {
    super(description)
    this.status = status
  }
}

export const refusal = (status: number, description: string): CmlAnswer => ({
  status,
  body: { code: status, description },
})

export type ElementKind = 'Lab' | 'Node' | 'Link' | 'Interface'

/** The official client marks its objects as stale by exactly this message. */
export const notFound = (kind: ElementKind, id: string): CmlRefusal => new CmlRefusal(404, `${kind} not found: ${id}`)

export const OK = (body: unknown): CmlAnswer => ({ status: 200, body })
export const DONE: CmlAnswer = { status: 204 }

/** Timestamp format of CML in most places. */
export const instantText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}+00:00`

/** Timestamp format of CML in licensing: no zone. */
export const plainInstantText = (ms: number): string => instantText(ms).slice(0, 19).replace('T', ' ')
