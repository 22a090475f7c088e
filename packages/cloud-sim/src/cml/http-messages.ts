/** One call of the CML API, whatever it came by. */
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
  /** Sent as JSON; left out, there is no body at all. */
  readonly body?: unknown
  /** Sent as it is instead of JSON. */
  readonly text?: string
  /** Of `text`; plain when not said. */
  readonly content_type?: string
  /** The answer is ready but comes so much later. */
  readonly held_ms?: number
}

/** CML says no, in its own words. Nothing has changed. */
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

/** The official client marks its objects as stale by exactly these words. */
export const notFound = (kind: ElementKind, id: string): CmlRefusal => new CmlRefusal(404, `${kind} not found: ${id}`)

export const OK = (body: unknown): CmlAnswer => ({ status: 200, body })
export const DONE: CmlAnswer = { status: 204 }

/** As CML writes instants in most places. */
export const instantText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}+00:00`

/** As CML writes instants in licensing: no zone. */
export const plainInstantText = (ms: number): string => instantText(ms).slice(0, 19).replace('T', ' ')
