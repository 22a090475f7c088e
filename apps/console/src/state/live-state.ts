import type { EventEnvelope } from '@lcm/contract/events'
import type { AnswerOf } from '@lcm/contract/routes'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import { type Signal, signal } from '@preact/signals'
import { type UsageSamples, usageSamples } from './usage-samples.ts'
import { type Collection, collection } from './versioned-collection.ts'

export type Info = AnswerOf<'info'>

/** State of the connection. `polling`: lists can be loaded, but the event stream is unavailable. */
export type Connection =
  | { readonly state: 'connecting' | 'live' }
  /** Sign-in address of the identity provider; null without one. */
  | { readonly state: 'signed-out'; readonly signIn: string | null }
  /** `retryAtMs` is server time, like all displayed times. */
  | { readonly state: 'reconnecting' | 'polling' | 'offline'; readonly because: string; readonly retryAtMs: number }

/** Kinds of resources that are held completely, each in a collection. */
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

/** State received from the server. Only the stream writes it, so the screen never shows a guess. */
export interface LiveState {
  readonly live: Collections
  /** Measurements since the page was opened. */
  readonly samples: UsageSamples
  /** Topics of data to reload: `settings`, and decisions by resource, such as `worker:w-1`. */
  readonly updates: LiveUpdates
  /** Decisions since the page was opened. */
  readonly decisions: RecentDecisions
  /** Null until the first load is complete. */
  readonly info: Signal<Info | null>
  readonly connection: Signal<Connection>
  /** Server time of the last message; null before the first. */
  readonly lastMessageAtMs: Signal<number | null>
  /** Server clock minus browser clock; 0 before the first message. */
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

/** Signals that data changed and should be reloaded: decisions about `worker:w-1`, `settings`. */
interface LiveUpdates {
  /** Number of updates of a topic. Reading it in a component or effect subscribes to this topic only. */
  count(topic: string): number
  publish(topic: string): void
}

export function liveUpdates(): LiveUpdates {
  const counters = new Map<string, Signal<number>>()
  return {
    count(topic) {
      const counter = counters.get(topic) ?? signal(0)
      counters.set(topic, counter)
      return counter.value
    },
    publish(topic) {
      const counter = counters.get(topic)
      if (counter) counter.value++
    },
  }
}

/** Decisions since the page was opened, newest first. Older ones are in the journal. */
interface RecentDecisions {
  /** Reading it in a component or effect subscribes to changes. */
  all(): readonly DecisionRecord[]
  add(decision: DecisionRecord): void
}

const KEPT_MAX = 200

export function recentDecisions(): RecentDecisions {
  const kept = signal<readonly DecisionRecord[]>([])
  return {
    all: () => kept.value,
    add(decision) {
      if (kept.peek().some(({ id }) => id === decision.id)) return
      kept.value = [decision, ...kept.peek()].slice(0, KEPT_MAX)
    },
  }
}
