import { setMaxListeners } from 'node:events'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Clock } from '@lcm/runtime/clock'
import {
  type Compute,
  IDS_PER_CALL,
  type Image,
  type ImageQuery,
  type PowerAction,
  type PowerStates,
} from '../compute.ts'
import { CloudError, type CloudErrorClass } from '../errors.ts'

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

function getOrCreate<Value>(entries: Map<string, Value>, key: string, make: () => Value): Value {
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

interface BatchQueue<Answer> {
  ask(id: string, signal: AbortSignal): Promise<Answer>
}

interface Caller<Answer> {
  readonly id: string
  readonly signal: AbortSignal
  readonly answer: (outcome: Answer | CloudError) => void
  readonly fail: (error: unknown) => void
}

/** Concurrent callers of the same id share a request. */
function batchQueue<Answer>(idsMax: number, request: BatchRequest<Answer>): BatchQueue<Answer> {
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
      if (outcome === undefined) caller.fail(missingInResponse(caller.id, 'batch'))
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

const missingInResponse = (id: string, action: string) =>
  new CloudError('transient', { code: 'MalformedAnswer', action, message: `the response lacks ${id}` })

/** Maximum age of a cached image. */
export const IMAGE_TTL_MS = 5 * 60_000
/**
 * A missing image may be copied any minute, and a launch waits for it. Shorter than the interval between two
 * reconciliations.
 */
export const NO_IMAGE_TTL_MS = 20_000

interface CachedImage {
  readonly image: Image | null
  readonly untilMs: number
}

/**
 * Queries the newest image once per region, query and TTL, however many launches need it. Concurrent callers share a
 * request. Errors are not cached. A launch that EC2 rejects because its image is gone evicts the entry.
 */
export function imageCache(compute: Compute, clock: Clock): Compute {
  const cache = new Map<string, CachedImage>()
  const queues = new Map<string, BatchQueue<Image | null>>()

  async function latest(key: string, ask: () => Promise<Image | null>): Promise<Image | null> {
    const cached = cache.get(key)
    if (cached !== undefined && clock.monotonic() < cached.untilMs) return cached.image
    cache.delete(key)
    const image = await ask()
    cache.set(key, { image, untilMs: clock.monotonic() + (image === null ? NO_IMAGE_TTL_MS : IMAGE_TTL_MS) })
    return image
  }

  const queueOf = (region: string, wanted: ImageQuery): BatchQueue<Image | null> =>
    batchQueue(1, async (keys, signal) => {
      const answers = keys.map(
        async key => [key, await latest(key, () => compute.newestImage(region, wanted, signal))] as const,
      )
      return new Map(await Promise.all(answers))
    })

  return {
    ...compute,
    newestImage(region, wanted, signal) {
      const key = JSON.stringify([region, wanted.owner, wanted.name_pattern])
      return getOrCreate(queues, key, () => queueOf(region, wanted)).ask(key, signal)
    },
    async launch(region, request, signal) {
      try {
        return await compute.launch(region, request, signal)
      } catch (error) {
        if (isImageGone(error))
          for (const [key, { image }] of cache) if (image?.image_id === request.parameters.image_id) cache.delete(key)
        throw error
      }
    },
  }
}

/** Deregistered, or no longer shared with this account. */
const isImageGone = (error: unknown): boolean => error instanceof CloudError && error.code.startsWith('InvalidAMIID')

type PowerCall = (instanceIds: readonly string[]) => Promise<PowerStates>

/**
 * For each machine the state that the cloud reported, or why it was not changed; after `transient` it may have been.
 */
export type PowerOutcome = ReadonlyMap<string, string | CloudError>

/** Errors that may concern one machine only. After any other error the outcome of the whole call is unknown. */
const MACHINE_ERRORS: readonly CloudErrorClass[] = ['not_found', 'state', 'protected', 'invalid', 'capacity', 'quota']

/**
 * Changes many machines in as few calls as possible. EC2 rejects a whole call because of one machine, though it may
 * have changed some of the others: the machines named in the error are left out and the rest is retried, and if none is
 * named, the call is split in halves.
 */
export async function powerEach(instanceIds: readonly string[], call: PowerCall): Promise<PowerOutcome> {
  const outcome = new Map<string, string | CloudError>()
  let batches = chunks([...new Set(instanceIds)], IDS_PER_CALL.power)
  for (let batch = batches[0]; batch; batch = batches[0]) {
    const answer = await answerOf(call, batch)
    const rest = batches.slice(1)
    if (!(answer instanceof CloudError)) {
      for (const id of batch) outcome.set(id, answer.get(id) ?? missingInResponse(id, 'power'))
      batches = rest
      continue
    }
    if (!isMachineError(batch, answer)) {
      for (const id of batches.flat()) outcome.set(id, answer)
      return outcome
    }
    const refused = refusedOf(batch, answer)
    for (const id of refused) outcome.set(id, answer)
    const left = batch.filter(id => !refused.includes(id))
    batches = [...(refused.length > 0 ? chunks(left, batch.length) : halvesOf(left)), ...rest]
  }
  return outcome
}

async function answerOf(call: PowerCall, ids: readonly string[]): Promise<PowerStates | CloudError> {
  try {
    return await call(ids)
  } catch (error) {
    if (error instanceof CloudError) return error
    throw error
  }
}

/** A policy may forbid one machine, such as one without our tags, and then names it. */
const isMachineError = (batch: readonly string[], error: CloudError): boolean =>
  MACHINE_ERRORS.includes(error.errorClass) || (error.errorClass === 'auth' && namedIn(batch, error).length > 0)

/** Machines that the error names; a call for one machine needs no name. */
function refusedOf(batch: readonly string[], error: CloudError): readonly string[] {
  return batch.length === 1 ? batch : namedIn(batch, error)
}

function namedIn(batch: readonly string[], { message }: CloudError): readonly string[] {
  const words = new Set(message.split(/[^\w-]+/))
  return batch.filter(id => words.has(id))
}

const halvesOf = (ids: readonly string[]) => chunks(ids, Math.ceil(ids.length / 2))

/** Parts of a list for calls that take at most `size` items. */
export function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, n) => items.slice(n * size, (n + 1) * size))
}
