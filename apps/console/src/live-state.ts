import type { AnswerOf } from '@lcm/contract/routes'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Signal, signal } from '@preact/signals'
import { type Collection, collection } from './collection.ts'

export type Info = AnswerOf<'info'>

/** How the console learns of changes right now. `polling`: lists come, the event stream does not. */
export type Connection =
  | { readonly state: 'connecting' | 'live' | 'signed-out' }
  | { readonly state: 'reconnecting' | 'polling' | 'offline'; readonly because: string; readonly retryAtMs: number }

/** All that the server said. Only the stream writes it, so what is on screen is never a guess. */
export interface LiveState {
  readonly workers: Collection<Worker>
  readonly templates: Collection<WorkerTemplate>
  /** Null until everything has been read once. */
  readonly info: Signal<Info | null>
  readonly connection: Signal<Connection>
  /** When the server last said anything; null if it never did. */
  readonly heardAtMs: Signal<number | null>
}

export const liveState = (): LiveState => ({
  workers: collection(),
  templates: collection(),
  info: signal(null),
  connection: signal({ state: 'connecting' }),
  heardAtMs: signal(null),
})
