import type { Client } from '@lcm/client/client'
import { batch, effect, type ReadonlySignal, signal } from '@preact/signals'
import { failureText } from './failure-text.ts'
import type { Collections, LiveKind } from './live-state.ts'
import type { Notices } from './notices.ts'
import type { Versioned } from './versioned-collection.ts'

/** Resource that a request is about. */
export interface Target {
  readonly kind: LiveKind
  readonly id: string
  readonly name: string
}

interface PendingRequest {
  readonly kind: LiveKind
  readonly verb: string
  /** Version in the response; null before the response. */
  readonly version: number | null
}

interface Creation {
  readonly kind: LiveKind
  readonly id: string
  readonly name: string
}

/**
 * Requests in progress. A response is not the end of a request: it is complete when the event stream delivers the returned
 * version, or when the API refuses it.
 */
export interface Requests {
  /** Verb of the request in progress for a resource; null without one. */
  pendingVerbOf(id: string): string | null
  readonly creations: ReadonlySignal<readonly Creation[]>
  /**
   * Resolves to whether the API accepted the request; a refusal is shown as a notice. `verb` completes "Could not …", such as
   * `stop`. `onRefused` returns true when the caller handles the refusal itself.
   */
  send(
    subject: Target,
    verb: string,
    send: (client: Client) => Promise<{ readonly version: number }>,
    onRefused?: (refusal: unknown) => boolean,
  ): Promise<boolean>
  /** Rejects when refused, so that the form can show the reason. */
  create(kind: LiveKind, name: string, send: (client: Client) => Promise<{ readonly id: string }>): Promise<string>
}

export interface RequestDeps {
  readonly client: Client
  readonly live: Collections
  readonly notices: Notices
}

export function requestTracker({ client, live, notices }: RequestDeps): Requests {
  const open = signal<ReadonlyMap<string, PendingRequest>>(new Map())
  const creations = signal<readonly Creation[]>([])
  const held = (kind: LiveKind, id: string): Versioned | undefined => live[kind].get(id)

  const set = (id: string, ask: PendingRequest | null) => {
    const next = new Map(open.value)
    if (ask) next.set(id, ask)
    else next.delete(id)
    open.value = next
  }

  effect(() => {
    const seen = [...open.value].filter(([id, ask]) => isConfirmed(ask, held(ask.kind, id)))
    const missing = creations.value.filter(({ kind, id }) => held(kind, id) === undefined)
    batch(() => {
      for (const [id] of seen) set(id, null)
      if (missing.length < creations.value.length) creations.value = missing
    })
  })

  return {
    pendingVerbOf: id => open.value.get(id)?.verb ?? null,
    creations,
    async send({ kind, id, name }, verb, send, onRefused = () => false) {
      set(id, { kind, verb, version: null })
      try {
        const response = await send(client)
        set(id, { kind, verb, version: response.version })
        return true
      } catch (error) {
        set(id, null)
        if (!onRefused(error)) notices.show('refused', `Could not ${verb} ${name}`, failureText(error))
        return false
      }
    },
    async create(kind, name, send) {
      const { id } = await send(client)
      if (held(kind, id) === undefined) creations.value = [...creations.value, { kind, id, name }]
      return id
    },
  }
}

/** For forms, which show the refusal themselves. */
export async function sendOrReject(
  requests: Requests,
  subject: Target,
  verb: string,
  send: (client: Client) => Promise<{ readonly version: number }>,
): Promise<void> {
  let refusal: unknown = null
  const keep = (error: unknown) => {
    refusal = error
    return true
  }
  if (!(await requests.send(subject, verb, send, keep))) throw refusal
}

/** Requests are sent only for resources that are held: one that is missing was deleted meanwhile. */
const isConfirmed = ({ version }: PendingRequest, held: Versioned | undefined): boolean =>
  version !== null && (held === undefined || held.version >= version)
