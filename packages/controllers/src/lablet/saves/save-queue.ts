import { NotLeadingError } from '@lcm/cloud/errors'
import { aborted, type HostedService, type LinkedAbort, linkedAbort } from '@lcm/runtime'
import { SupersededError } from '../../kit/fenced-write.ts'
import { type SaveParts, type SaveRequest, saveLab } from './save-lab.ts'

/** Saves in progress, in total, so that their topologies fit into memory, and per CML: a save is never worth a slow lab. Others wait. */
const AT_ONCE_MAX = 30
const PER_WORKER_MAX = 3

/** Saves labs beside the reconciler of sessions, which waits for none of them. */
export interface SaveQueue extends HostedService {
  /** Queues a save unless the session has one. The save at the end replaces any other. */
  request(request: SaveRequest): void
  /** Whether a save of the session waits or is in progress. */
  isBusy(sessionId: string): boolean
}

interface Running {
  readonly request: SaveRequest
  readonly abort: LinkedAbort
}

const RANK = { end: 0, request: 1, interval: 2 } as const

export function saveQueue(parts: SaveParts): SaveQueue {
  const waiting = new Map<string, SaveRequest>()
  const running = new Map<string, Running>()
  let term: AbortSignal | null = null
  let ended: (() => void) | null = null

  function next(): SaveRequest | undefined {
    const isFree = ({ session, worker }: SaveRequest): boolean =>
      !running.has(session.id) &&
      [...running.values()].filter(({ request }) => request.worker.id === worker.id).length < PER_WORKER_MAX
    const free = [...waiting.values()].filter(isFree)
    return free.sort((a, b) => RANK[a.cause] - RANK[b.cause])[0]
  }

  function pump(): void {
    while (term !== null && !term.aborted && running.size < AT_ONCE_MAX) {
      const request = next()
      if (request === undefined) return
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
      const isFinal = request.cause === 'end'
      if (!isFinal && (waiting.has(id) || running.has(id))) return
      waiting.set(id, request)
      const before = running.get(id)
      if (isFinal && before?.request.cause !== 'end') before?.abort.abort()
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
