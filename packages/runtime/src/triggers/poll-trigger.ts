import type { ResourceState } from '../reconciliation/resource-state.ts'
import type { Listing, Trigger, TriggerContext } from './trigger.ts'

/** Resources on one page of a list. */
export const LIST_PAGE_SIZE = 1_000

/** Pages until the end of the list. It throws rather than end early, and ends soon after `signal` aborts. */
export type ListPages<R> = (signal: AbortSignal) => AsyncIterable<readonly R[]>

export interface ListOptions<R> {
  readonly list: ListPages<R>
  keyOf(resource: R): string
}

export interface PollOptions<R> extends ListOptions<R> {
  readonly intervalMs?: number
  readonly initialDelayMs?: number
  /** Pure. Keys for which it is false are skipped, so an idle fleet costs one listing. Default: true for all. */
  needsAttention?(resource: R, seen: ResourceState | undefined, nowMs: number): boolean
  /** Declares that a key missing from this list is deleted. Leave it out for a partial list. */
  readonly listsEverything?: boolean
}

/** Lists periodically and offers what needs attention: the safety net under every other trigger. */
export function poll<R>(options: PollOptions<R>): Trigger<R> {
  const { intervalMs = 30_000, initialDelayMs = 5_000, listsEverything = false } = options
  return {
    name: 'poll',
    async run(context) {
      await context.clock.sleep(initialDelayMs, context.signal)
      while (!context.signal.aborted) {
        await readUntilDone(options.list, context, 'poll', {
          visit: (listing, resource) => offerIfDue(options, context, listing, resource),
          listsEverything,
        })
        await context.clock.sleep(intervalMs, context.signal)
      }
    },
    runNow: context => addAll(options, context),
  }
}

/** Offers everything once per term, `delayMs` after its start; a failed list is read again until it succeeds. */
export function startupSweep<R>(options: ListOptions<R> & { readonly delayMs?: number }): Trigger<R> {
  return {
    name: 'startup sweep',
    async run(context) {
      await context.clock.sleep(options.delayMs ?? 2_000, context.signal)
      await sweep(options, context)
    },
    runNow: context => addAll(options, context),
  }
}

/** Offers everything each `intervalMs`: the slow sweep that finds drift in what the poll skips. */
export function every<R>(options: ListOptions<R> & { readonly intervalMs: number }): Trigger<R> {
  return {
    name: 'full sweep',
    async run(context) {
      while (!context.signal.aborted) {
        await context.clock.sleep(options.intervalMs, context.signal)
        await sweep(options, context)
      }
    },
    runNow: context => addAll(options, context),
  }
}

const sweep = <R>({ list, keyOf }: ListOptions<R>, context: TriggerContext<R>) =>
  readUntilDone(list, context, 'sweep', {
    visit: (listing, resource) => listing.offer(keyOf(resource), resource),
    listsEverything: true,
  })

const addAll = <R>({ list, keyOf }: ListOptions<R>, context: TriggerContext<R>) =>
  readUntilDone(list, context, 'admin', {
    visit: (_, resource) => context.add(keyOf(resource), 'admin'),
    listsEverything: false,
  })

function offerIfDue<R>(options: PollOptions<R>, context: TriggerContext<R>, listing: Listing<R>, resource: R): void {
  const key = options.keyOf(resource)
  if (isDue(options, context, key, resource)) listing.offer(key, resource)
  else listing.mark(key)
}

/** A predicate that throws on one resource must not keep the poll from the others: reconciling is always safe. */
function isDue<R>(options: PollOptions<R>, context: TriggerContext<R>, key: string, resource: R): boolean {
  try {
    return options.needsAttention?.(resource, context.seen(key), context.clock.now()) ?? true
  } catch (err) {
    context.logger.error({ key, err }, 'needsAttention threw')
    return true
  }
}

interface Reading<R> {
  visit(listing: Listing<R>, resource: R): void
  readonly listsEverything: boolean
}

/** A failed list is logged and read again after a backoff. It never counts as an empty one. */
async function readUntilDone<R>(list: ListPages<R>, context: TriggerContext<R>, cause: string, reading: Reading<R>) {
  for (let failures = 0; !context.signal.aborted; failures += 1) {
    try {
      return await readOnce(list, context, cause, reading)
    } catch (err) {
      if (context.signal.aborted) return
      const retryInMs = context.backoff(failures)
      context.logger.warn({ cause, err, retryInMs }, 'list failed')
      await context.clock.sleep(retryInMs, context.signal)
    }
  }
}

async function readOnce<R>(list: ListPages<R>, context: TriggerContext<R>, cause: string, reading: Reading<R>) {
  const listing = context.openListing(cause)
  try {
    for await (const page of list(context.signal)) {
      if (context.signal.aborted) return
      for (const resource of page) reading.visit(listing, resource)
      await context.waitForCapacity()
    }
    if (reading.listsEverything && !context.signal.aborted) listing.completeSweep()
  } finally {
    listing.close()
  }
}
