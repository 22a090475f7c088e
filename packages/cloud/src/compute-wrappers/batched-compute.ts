import { setMaxListeners } from 'node:events'
import type { Instance } from '@lcm/domain/worker/instance'
import { type Compute, IDS_PER_CALL, type PowerAction } from '../compute.ts'
import { CloudError } from '../errors.ts'
import { powerEach } from './power-each.ts'

/** Calls for one machine, as a reconciler needs them. Concurrent callers share a request. */
export interface BatchedCompute extends Pick<Compute, 'list' | 'newestImage' | 'imageIds' | 'launch' | 'tag'> {
  /** Null when the cloud does not show the id, which alone does not prove that the machine is gone. */
  describeOne(region: string, instanceId: string, signal: AbortSignal): Promise<Instance | null>
  /** Starts the change and returns the state that the cloud reported. Safe to repeat. */
  powerOne(region: string, action: PowerAction, instanceId: string, signal: AbortSignal): Promise<string>
}

/**
 * Combines calls for one machine into calls for many. The first is sent at once; calls that arrive while it is in
 * progress are sent together when it ends. So no caller waits for others to join, and no caller gets a response to a
 * request that started before its call.
 */
export function batchedCompute(compute: Compute): BatchedCompute {
  const describes = new Map<string, BatchQueue<Instance | null>>()
  const changes = new Map<string, BatchQueue<string>>()
  return {
    list: compute.list,
    newestImage: compute.newestImage,
    imageIds: compute.imageIds,
    launch: compute.launch,
    tag: compute.tag,
    describeOne: (region, id, signal) =>
      getOrCreate(describes, region, () => batchQueue(IDS_PER_CALL.describe, describeBatch(compute, region))).ask(
        id,
        signal,
      ),
    powerOne: (region, action, id, signal) =>
      getOrCreate(changes, `${action} ${region}`, () =>
        batchQueue(IDS_PER_CALL.power, powerBatch(compute, region, action)),
      ).ask(id, signal),
  }
}

export function getOrCreate<Value>(entries: Map<string, Value>, key: string, make: () => Value): Value {
  const entry = entries.get(key) ?? make()
  entries.set(key, entry)
  return entry
}

/** Requests many ids at once; ids missing in the result were not found. */
type BatchRequest<Answer> = (
  ids: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, Answer | CloudError>>

const describeBatch =
  (compute: Compute, region: string): BatchRequest<Instance | null> =>
  async (ids, signal) => {
    const { found } = await compute.describe(region, ids, signal)
    const shown = new Map(found.map(instance => [instance.instance_id, instance]))
    return new Map(ids.map(id => [id, shown.get(id) ?? null]))
  }

const powerBatch =
  (compute: Compute, region: string, action: PowerAction): BatchRequest<string> =>
  (ids, signal) =>
    powerEach(ids, some => compute.power(region, action, some, signal))

export interface BatchQueue<Answer> {
  ask(id: string, signal: AbortSignal): Promise<Answer>
}

interface Caller<Answer> {
  readonly id: string
  readonly signal: AbortSignal
  readonly answer: (outcome: Answer | CloudError) => void
  readonly fail: (error: unknown) => void
}

/** Concurrent callers of the same id share a request. */
export function batchQueue<Answer>(idsMax: number, request: BatchRequest<Answer>): BatchQueue<Answer> {
  const waiting = new Set<Caller<Answer>>()
  let isBusy = false

  async function sendUntilEmpty(): Promise<void> {
    isBusy = true
    while (waiting.size > 0) {
      const going = nextOf(waiting, idsMax)
      for (const caller of going) waiting.delete(caller)
      await sendBatch(request, going)
    }
    isBusy = false
  }

  return {
    ask: (id, signal) =>
      new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(caller)
          settle(() => reject(canceled(id)))
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
        if (signal.aborted) return reject(canceled(id))
        // Any number of callers may share a signal, and each removes its listener: a leak warning would be false.
        setMaxListeners(0, signal)
        signal.addEventListener('abort', leave)
        waiting.add(caller)
        if (!isBusy) void sendUntilEmpty()
      }),
  }
}

/** The first callers, up to the ids that one request can name, and all callers of those ids. */
function nextOf<Answer>(waiting: ReadonlySet<Caller<Answer>>, idsMax: number): readonly Caller<Answer>[] {
  const ids = new Set<string>()
  return [...waiting].filter(({ id }) => {
    if (ids.size < idsMax) ids.add(id)
    return ids.has(id)
  })
}

async function sendBatch<Answer>(request: BatchRequest<Answer>, callers: readonly Caller<Answer>[]): Promise<void> {
  const ids = [...new Set(callers.map(caller => caller.id))]
  const unwanted = whenAllAbort([...new Set(callers.map(caller => caller.signal))])
  try {
    const outcomes = await request(ids, unwanted.signal)
    for (const caller of callers) {
      const outcome = outcomes.get(caller.id)
      if (outcome === undefined) caller.fail(missingInResponse(caller.id))
      else caller.answer(outcome)
    }
  } catch (error) {
    for (const caller of callers) caller.fail(error)
  } finally {
    unwanted.unlink()
  }
}

/** Cancels the request when all its callers have aborted: one of them must not cancel it for the others. */
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

const canceled = (id: string) =>
  new CloudError('transient', { code: 'AbortError', action: 'batch', message: `${id}: canceled` })

const missingInResponse = (id: string) =>
  new CloudError('transient', { code: 'MalformedAnswer', action: 'batch', message: `the response lacks ${id}` })
