import { setMaxListeners } from 'node:events'
import type { Instance } from '@lcm/domain/worker/instance'
import { type Compute, IDS_PER_CALL, type PowerAct } from './compute.ts'
import { powerEach } from './compute-power.ts'
import { CloudError } from './errors.ts'

/** What a reconciler of one machine needs: it asks for its own, and whoever asks at the same time shares a call. */
export interface Machines extends Pick<Compute, 'list' | 'newestImage' | 'imageIds' | 'launch' | 'tag'> {
  /** Null when the cloud does not show it under this id, which alone does not prove it gone. */
  look(region: string, instanceId: string, signal: AbortSignal): Promise<Instance | null>
  /** Starts the change and answers the state that the cloud named. Repeating it does no harm. */
  power(region: string, act: PowerAct, instanceId: string, signal: AbortSignal): Promise<string>
}

/**
 * Calls about one machine become calls about many. The first goes at once; whatever comes while it is under way goes together
 * when it is over, so nobody waits for company and nobody gets an answer that was begun before the question.
 */
export function gathered(compute: Compute): Machines {
  const looks = new Map<string, Line<Instance | null>>()
  const changes = new Map<string, Line<string>>()
  return {
    list: compute.list,
    newestImage: compute.newestImage,
    imageIds: compute.imageIds,
    launch: compute.launch,
    tag: compute.tag,
    look: (region, id, signal) =>
      entryOf(looks, region, () => newLine(IDS_PER_CALL.describe, lookAt(compute, region))).ask(id, signal),
    power: (region, act, id, signal) =>
      entryOf(changes, `${act} ${region}`, () => newLine(IDS_PER_CALL.power, powering(compute, region, act))).ask(
        id,
        signal,
      ),
  }
}

export function entryOf<Value>(entries: Map<string, Value>, key: string, make: () => Value): Value {
  const entry = entries.get(key) ?? make()
  entries.set(key, entry)
  return entry
}

/** Asks for many at once; what is missing in the answer was not found. */
type Asking<Answer> = (ids: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, Answer | CloudError>>

const lookAt =
  (compute: Compute, region: string): Asking<Instance | null> =>
  async (ids, signal) => {
    const { found } = await compute.describe(region, ids, signal)
    const shown = new Map(found.map(instance => [instance.instance_id, instance]))
    return new Map(ids.map(id => [id, shown.get(id) ?? null]))
  }

const powering =
  (compute: Compute, region: string, act: PowerAct): Asking<string> =>
  (ids, signal) =>
    powerEach(ids, some => compute.power(region, act, some, signal))

export interface Line<Answer> {
  ask(id: string, signal: AbortSignal): Promise<Answer>
}

interface Caller<Answer> {
  readonly id: string
  readonly signal: AbortSignal
  readonly answer: (outcome: Answer | CloudError) => void
  readonly fail: (error: unknown) => void
}

/** Callers that ask for the same id at the same time share a call. */
export function newLine<Answer>(idsMax: number, asking: Asking<Answer>): Line<Answer> {
  const waiting = new Set<Caller<Answer>>()
  let isBusy = false

  async function goWhileAnybodyWaits(): Promise<void> {
    isBusy = true
    while (waiting.size > 0) {
      const going = nextOf(waiting, idsMax)
      for (const caller of going) waiting.delete(caller)
      await askTogether(asking, going)
    }
    isBusy = false
  }

  return {
    ask: (id, signal) =>
      new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(caller)
          settle(() => reject(cancelled(id)))
        }
        const settle = (done: () => void) => {
          signal.removeEventListener('abort', leave)
          done()
        }
        const caller: Caller<Answer> = {
          id,
          signal,
          answer: outcome => settle(() => (outcome instanceof CloudError ? reject(outcome) : resolve(outcome))),
          fail: error => settle(() => reject(error)),
        }
        if (signal.aborted) return reject(cancelled(id))
        // Any number of callers may share a signal, and each takes its listener off again: a warning of a leak would be false.
        setMaxListeners(0, signal)
        signal.addEventListener('abort', leave)
        waiting.add(caller)
        if (!isBusy) void goWhileAnybodyWaits()
      }),
  }
}

/** Those who came first, with as many machines as one call can name. Who asks for one of these goes along. */
function nextOf<Answer>(waiting: ReadonlySet<Caller<Answer>>, idsMax: number): readonly Caller<Answer>[] {
  const ids = new Set<string>()
  return [...waiting].filter(({ id }) => {
    if (ids.size < idsMax) ids.add(id)
    return ids.has(id)
  })
}

async function askTogether<Answer>(asking: Asking<Answer>, callers: readonly Caller<Answer>[]): Promise<void> {
  const ids = [...new Set(callers.map(caller => caller.id))]
  const unwanted = whenAllAbort([...new Set(callers.map(caller => caller.signal))])
  try {
    const outcomes = await asking(ids, unwanted.signal)
    for (const caller of callers) {
      const outcome = outcomes.get(caller.id)
      if (outcome === undefined) caller.fail(unanswered(caller.id))
      else caller.answer(outcome)
    }
  } catch (error) {
    for (const caller of callers) caller.fail(error)
  } finally {
    unwanted.unlink()
  }
}

/** The call is given up when nobody waits for it any more: one who leaves must not take the answer from the others. */
function whenAllAbort(signals: readonly AbortSignal[]) {
  const abort = new AbortController()
  const check = () => {
    if (signals.every(signal => signal.aborted)) abort.abort()
  }
  for (const signal of signals) signal.addEventListener('abort', check)
  return {
    signal: abort.signal,
    unlink() {
      for (const signal of signals) signal.removeEventListener('abort', check)
    },
  }
}

const cancelled = (id: string) =>
  new CloudError('transient', { code: 'AbortError', action: 'gathered', message: `${id}: it was cancelled` })

const unanswered = (id: string) =>
  new CloudError('transient', { code: 'MalformedAnswer', action: 'gathered', message: `an answer without ${id}` })
