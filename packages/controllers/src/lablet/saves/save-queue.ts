import { NotLeadingError } from '@lcm/cloud/errors'
import { aborted, type HostedService, type LinkedAbort, linkedAbort } from '@lcm/runtime'
import { SupersededError } from '../../kit/fenced-write.ts'
import { type SaveParts, type SaveRequest, saveLab } from './save-lab.ts'

/** Saves in progress at once, in total, so that their topologies fit into memory, and per CML. */
interface Limits {
  readonly total: number
  readonly perWorker: number
}

/** A save is never worth a slow lab. */
const WHILE_RUNNING: Limits = { total: 30, perWorker: 3 }
/** Before a lab is removed. These have a minute, and the sessions of a class end together. */
const BEFORE_REMOVAL: Limits = { total: 100, perWorker: 10 }

/** Saves labs beside the reconciler of sessions, which waits for none of them. */
export interface SaveQueue extends HostedService {
  /** Queues a save unless the session has one. The save at the end or before a move replaces any other. */
  request(request: SaveRequest): void
  /** Whether a save of the session waits or is in progress. */
  isBusy(sessionId: string): boolean
}

interface Running {
  readonly request: SaveRequest
  readonly abort: LinkedAbort
}

/** Whether the lab is removed after the save. */
const isLast = ({ endsAtMs }: SaveRequest): boolean => endsAtMs !== null
const replaces = (next: SaveRequest, before: SaveRequest): boolean =>
  isLast(next) && !(isLast(before) && before.cause === next.cause)
/** A person waits for a save that was requested. */
const byUrgency = (a: SaveRequest, b: SaveRequest): number =>
  Number(b.cause === 'request') - Number(a.cause === 'request')

export function saveQueue(parts: SaveParts): SaveQueue {
  const waiting = new Map<string, SaveRequest>()
  const running = new Map<string, Running>()
  let term: AbortSignal | null = null
  let ended: (() => void) | null = null

  function isFree(request: SaveRequest): boolean {
    const { session, worker } = request
    const limits = isLast(request) ? BEFORE_REMOVAL : WHILE_RUNNING
    const alike = [...running.values()].filter(each => isLast(each.request) === isLast(request))
    const onWorker = alike.filter(each => each.request.worker.id === worker.id)
    return !running.has(session.id) && alike.length < limits.total && onWorker.length < limits.perWorker
  }

  function pump(): void {
    if (term === null || term.aborted) return
    for (const request of [...waiting.values()].sort(byUrgency)) {
      if (!isFree(request)) continue
      waiting.delete(request.session.id)
      void run(request, term)
    }
  }

  async function run(request: SaveRequest, during: AbortSignal): Promise<void> {
    const { session, endsAtMs, leadership } = request
    const abort = linkedAbort(during, leadership.signal)
    running.set(session.id, { request, abort })
    const leftMs = endsAtMs === null ? null : endsAtMs - parts.clock.monotonic()
    const cancel = leftMs === null ? null : parts.clock.after(Math.max(0, leftMs), () => abort.abort())
    try {
      await saveLab(parts, request, abort.signal)
    } catch (err) {
      const isExpected = abort.signal.aborted || err instanceof SupersededError || err instanceof NotLeadingError
      if (!isExpected) parts.logger.warn({ err, session: session.id }, 'could not save a lab')
    } finally {
      cancel?.()
      abort.unlink()
      running.delete(session.id)
      if (running.size === 0) ended?.()
      pump()
    }
  }

  return {
    name: 'lab-saves',
    request(request) {
      const { id } = request.session
      const active = running.get(id)
      const before = waiting.get(id) ?? active?.request
      if (before !== undefined && !replaces(request, before)) return
      waiting.set(id, request)
      active?.abort.abort()
      pump()
    },
    isBusy: id => waiting.has(id) || running.has(id),
    async run(signal) {
      term = signal
      pump()
      await aborted(signal)
      waiting.clear()
      if (running.size > 0) await new Promise<void>(resolve => (ended = resolve))
      term = null
      ended = null
    },
  }
}
