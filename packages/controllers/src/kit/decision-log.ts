import type { Client } from '@lcm/client/client'
import { toInstant } from '@lcm/domain/instant'
import type { DecisionNote } from '@lcm/domain/journal-records'
import type { Reason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import type { HostedService, Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

const FLUSH_MS = 1_000
/** Timeout of the last flush when the process ends. */
const LAST_FLUSH_MS = 2_000
/** Older notes are dropped: the write that announced an action holds its decision. */
const WAITING_MAX = 1_000

/** Limit of the API for the outcome of a decision; an error of the cloud may be longer. */
export const OUTCOME_CHARS_MAX = 1000

export interface DecisionLog {
  /** Notes a decision that no write carries. Waits and idleness are noted only when their reason changed. */
  note(resource: string, epoch: number, note: DecisionNote): void
  /** A write carries this reason, so waiting for the same reason is not noted again. */
  written(resource: string, because: Reason): void
  forget(resource: string): void
  readonly service: HostedService
}

interface Noted extends DecisionNote {
  readonly id: string
  readonly at: string
  readonly resource: string
}

/** Params that name a resource: their digits tell one from another. */
const NAMES: ReadonlySet<string> = new Set(['worker', 'worker_id', 'instance_id', 'session_id', 'lab', 'lab_id'])

/** Code and params without other numbers, which change from one reconcile to the next. */
const gist = ({ code, params }: Reason): string =>
  `${code} ${JSON.stringify(params, (name, value) => (NAMES.has(name) ? value : withoutNumbers(value)))}`

function withoutNumbers(value: unknown): unknown {
  if (typeof value === 'number') return '#'
  return typeof value === 'string' ? value.replaceAll(/\d+/g, '#') : value
}

/** Decisions on their way to the API's journal. Losing some with a crash loses no state. */
export function decisionLog(parts: { client: Client; clock: Clock; logger: Logger; instanceId: string }): DecisionLog {
  const { client, clock, logger } = parts
  const last = new Map<string, string>()
  const waiting = new Map<number, Noted[]>()
  let count = 0
  let wake = (): void => undefined

  async function flush(epoch: number, decisions: Noted[], signal: AbortSignal): Promise<void> {
    try {
      await client.call('recordDecisions', { body: { epoch, decisions }, signal })
    } catch (err) {
      logger.warn({ err, decisions: decisions.length }, 'could not record decisions')
    }
  }

  /** Resolves at the next note, or at the abort. */
  function noted(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      wake = () => {
        signal.removeEventListener('abort', wake)
        resolve()
      }
      signal.addEventListener('abort', wake)
      if (signal.aborted) wake()
    })
  }

  async function flushAll(signal: AbortSignal): Promise<void> {
    const batches = [...waiting]
    waiting.clear()
    for (const [epoch, decisions] of batches) await flush(epoch, decisions, signal)
  }

  async function flushLast(): Promise<void> {
    const late = new AbortController()
    const cancel = clock.after(LAST_FLUSH_MS, () => late.abort())
    await flushAll(late.signal)
    cancel()
  }

  return {
    note(resource, epoch, note) {
      const isPassive = note.action === 'wait' || note.action === 'nothing'
      if (isPassive && last.get(resource) === gist(note.because)) return
      last.set(resource, gist(note.because))
      count += 1
      const decision = { ...note, id: `${parts.instanceId}:${epoch}:${count}`, at: toInstant(clock.now()), resource }
      waiting.set(epoch, [...(waiting.get(epoch) ?? []), decision].slice(-WAITING_MAX))
      wake()
    },
    written: (resource, because) => void last.set(resource, gist(because)),
    forget: resource => void last.delete(resource),
    service: {
      name: 'decision-log',
      async run(signal) {
        while (!signal.aborted) {
          if (waiting.size === 0) await noted(signal)
          await clock.sleep(FLUSH_MS, signal)
          if (!signal.aborted) await flushAll(signal)
        }
        await flushLast()
      },
    },
  }
}

/** The next action for each observed resource, for the heartbeat and `/admin/plan`. */
export interface PlanBoard {
  /** Null: the resource was observed and has nothing to do. */
  set(resource: string, planned: Omit<PlannedAction, 'resource'> | null): void
  forget(resource: string): void
  clear(): void
  plan(): readonly PlannedAction[]
  /** Observed resources of this kind, with and without a plan. */
  count(kind: string): number
}

export function planBoard(): PlanBoard {
  const entries = new Map<string, PlannedAction | null>()
  return {
    set: (resource, planned) => void entries.set(resource, planned && { ...planned, resource }),
    forget: resource => void entries.delete(resource),
    clear: () => entries.clear(),
    plan: () => [...entries.values()].filter(planned => planned !== null),
    count: kind => [...entries.keys()].filter(resource => resource.startsWith(`${kind}:`)).length,
  }
}
