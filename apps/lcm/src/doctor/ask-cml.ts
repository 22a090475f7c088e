import { type Client, isProblem, unlessMissing } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

/** Time in which the worker-controller observes a worker that it is requested to observe. */
export const ASK_MS_MAX = 10_000
const POLL_MS = 500
/** Requests at the same time, so that a large fleet does not flood the API. */
const AT_ONCE_MAX = 8
const DECISIONS_MAX = 20

export interface AskedCml {
  /** Workers as recorded after they were asked. */
  readonly workers: readonly Worker[]
  /** How far each CML answered, by the id of its worker: `READY` when all of it responds. */
  readonly stages: ReadonlyMap<string, string>
  /** Null when all were asked. */
  readonly unasked: Unasked | null
}

/** Names of workers that could not be asked, with the reason and what to do. */
interface Unasked {
  readonly names: readonly string[]
  readonly because: string
  readonly advice: string
}

const FORBIDDEN = { because: 'only operators and admins can ask', advice: 'run doctor as an operator' }
const TIMED_OUT = {
  because: `worker-controller did not answer within ${ASK_MS_MAX / 1000} s`,
  advice: 'check worker-controller with `lcm get services`',
}

/**
 * Asks the CML of every running worker through the worker-controller: neither this computer nor the API reaches CML. Returns the
 * record where no answer comes in time.
 */
export async function askCml(client: Client, clock: Clock, signal: AbortSignal): Promise<AskedCml> {
  const untilMs = clock.monotonic() + ASK_MS_MAX
  const list = async () => (await readList(query => client.call('listWorkers', { query, signal }))).items
  const before = await list()
  const running = before.filter(worker => worker.status === 'RUNNING' && !awaitsApproval(worker))
  const without = (missing: readonly Worker[], why: Omit<Unasked, 'names'>): Unasked | null =>
    missing.length === 0 ? null : { names: missing.map(({ name }) => name), ...why }
  try {
    await eachOf(running, ({ id }) =>
      unlessMissing(client.call('refreshWorker', { params: { id }, body: { reason: 'doctor' }, signal })),
    )
  } catch (error) {
    if (isProblem(error, 'forbidden'))
      return { workers: before, stages: new Map(), unasked: without(running, FORBIDDEN) }
    throw error
  }
  let now = await list()
  const isWaiting = ({ id, refresh_requested_at }: Worker) =>
    refresh_requested_at !== null && running.some(each => each.id === id)
  while (now.some(isWaiting) && clock.monotonic() < untilMs) {
    await clock.sleep(POLL_MS, signal)
    now = await list()
  }
  const asked = now.filter(worker => running.some(({ id }) => id === worker.id) && !isWaiting(worker))
  const stages = await eachOf(asked, async ({ id }) => [id, await stageOf(client, id, signal)] as const)
  return {
    workers: now,
    stages: new Map(stages.flatMap(([id, stage]) => (stage === null ? [] : [[id, stage]]))),
    unasked: without(now.filter(isWaiting), TIMED_OUT),
  }
}

/** The stage in the newest observation; null when none is recorded. */
async function stageOf(client: Client, id: string, signal: AbortSignal): Promise<string | null> {
  const query = { limit: DECISIONS_MAX }
  const { items } = await client.call('getWorkerDecisions', { params: { id }, query, signal })
  const newest = items.find(({ service, seen }) => service === 'worker-controller' && typeof seen.cml === 'string')
  return typeof newest?.seen.cml === 'string' ? newest.seen.cml : null
}

/** Does the same for each item, a few at a time, and keeps their order. */
async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let from = 0; from < items.length; from += AT_ONCE_MAX)
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE_MAX).map(work))))
  return results
}
