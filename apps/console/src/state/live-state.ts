import type { EventEnvelope } from '@lcm/contract/events'
import type { AnswerOf } from '@lcm/contract/routes'
import { type Signal, signal } from '@preact/signals'
import { type Collection, collection } from './collection.ts'
import { type LiveUpdates, liveUpdates } from './live-updates.ts'
import { type RecentDecisions, recentDecisions } from './recent-decisions.ts'
import { type UsageSamples, usageSamples } from './usage-samples.ts'

export type Info = AnswerOf<'info'>

/** How the console learns of changes right now. `polling`: lists come, the event stream does not. */
export type Connection =
  | { readonly state: 'connecting' | 'live' }
  /** Where people sign in by their identity provider; null where there is none. */
  | { readonly state: 'signed-out'; readonly signIn: string | null }
  /** When it is tried again is by the server's clock, as all times that are shown. */
  | { readonly state: 'reconnecting' | 'polling' | 'offline'; readonly because: string; readonly retryAtMs: number }

/** Kinds of resources that are kept whole, each in a collection. */
export const LIVE_KINDS = ['worker', 'template', 'definition', 'session', 'lab'] as const
export type LiveKind = (typeof LIVE_KINDS)[number]
type Shown<T extends EventEnvelope['type']> = Extract<EventEnvelope, { type: T; data: object }>['data']
export interface Collections {
  readonly worker: Collection<Shown<'worker.created' | 'worker.updated'>>
  readonly template: Collection<Shown<'template.created' | 'template.updated'>>
  readonly definition: Collection<Shown<'definition.created' | 'definition.updated'>>
  readonly session: Collection<Shown<'session.created' | 'session.updated'>>
  readonly lab: Collection<Shown<'lab.created' | 'lab.updated'>>
}

/** All that the server said. Only the stream writes it, so what is on screen is never a guess. */
export interface LiveState {
  readonly live: Collections
  /** What was measured since the page was opened. */
  readonly samples: UsageSamples
  /** What is not kept here but may be read again: `settings`, and decisions by their resource, such as `worker:w-1`. */
  readonly updates: LiveUpdates
  /** What controllers decided since the page was opened. */
  readonly decisions: RecentDecisions
  /** Null until everything has been read once. */
  readonly info: Signal<Info | null>
  readonly connection: Signal<Connection>
  /** When the server last said anything, by its own clock; null if it never did. */
  readonly lastMessageAtMs: Signal<number | null>
  /** The server's clock minus this browser's; 0 until a stream began. */
  readonly clockSkewMs: Signal<number>
}

export const liveState = (): LiveState => ({
  live: {
    worker: collection(),
    template: collection(),
    definition: collection(),
    session: collection(),
    lab: collection(),
  },
  samples: usageSamples(),
  updates: liveUpdates(),
  decisions: recentDecisions(),
  info: signal(null),
  connection: signal({ state: 'connecting' }),
  lastMessageAtMs: signal(null),
  clockSkewMs: signal(0),
})
