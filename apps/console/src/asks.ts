import type { Client } from '@lcm/client/client'
import type { BodyInput } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import { batch, effect, type ReadonlySignal, signal } from '@preact/signals'
import type { Collection } from './collection.ts'
import type { Notices } from './notices.ts'
import { failureText } from './wording.ts'

export type Verb = 'start' | 'stop' | 'terminate'

const ROUTE_OF_VERB = { start: 'startWorker', stop: 'stopWorker', terminate: 'terminateWorker' } as const

interface Ask {
  readonly verb: Verb
  /** The version that the answer promised; null while there is no answer. */
  readonly version: number | null
}

interface Creation {
  readonly id: string
  readonly name: string
}

/**
 * What was asked for and is not yet seen. An answer from the API is only a promise:
 * an ask is over when the event stream shows the promised version, or when it was refused.
 */
export interface Asks {
  /** What this worker has been asked to do; null when nothing is outstanding. */
  verbOf(worker: Worker): Verb | null
  readonly creations: ReadonlySignal<readonly Creation[]>
  ask(worker: Worker, verb: Verb): Promise<void>
  /** Rejects when refused, so that the form can say so. */
  create(body: BodyInput<'createWorker'>): Promise<void>
}

export interface AskDeps {
  readonly client: Client
  readonly workers: Collection<Worker>
  readonly notices: Notices
}

export function asksOf({ client, workers, notices }: AskDeps): Asks {
  const open = signal<ReadonlyMap<string, Ask>>(new Map())
  const creations = signal<readonly Creation[]>([])

  const set = (id: string, ask: Ask | null) => {
    const next = new Map(open.value)
    if (ask) next.set(id, ask)
    else next.delete(id)
    open.value = next
  }

  effect(() => {
    const held = workers.all()
    batch(() => {
      for (const [id, ask] of open.value) if (isSeen(ask, held.get(id))) set(id, null)
      if (creations.value.some(({ id }) => held.has(id)))
        creations.value = creations.value.filter(({ id }) => !held.has(id))
    })
  })

  return {
    verbOf: ({ id }) => open.value.get(id)?.verb ?? null,
    creations,
    async ask({ id, name }, verb) {
      set(id, { verb, version: null })
      try {
        const promised = await client.call(ROUTE_OF_VERB[verb], { params: { id }, body: {} })
        set(id, { verb, version: promised.version })
      } catch (error) {
        set(id, null)
        notices.tell('refused', `Could not ${verb} ${name}`, failureText(error))
      }
    },
    async create(body) {
      const { id, name } = await client.call('createWorker', { body })
      creations.value = [...creations.value, { id, name }]
    },
  }
}

/** Only workers that are held are asked, so one that is missing has gone since. */
const isSeen = ({ version }: Ask, held: Worker | undefined): boolean =>
  version !== null && (held === undefined || held.version >= version)
