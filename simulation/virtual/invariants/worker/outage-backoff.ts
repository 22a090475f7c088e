import type { SimModel } from '@lcm/cloud-sim/sim-model'
import type { Dispatch } from '@lcm/contract/route-spec'
import { MINUTE_MS } from '../../world/durations.ts'

const WINDOW_MS = 5 * MINUTE_MS
/** A backoff of 1 to 60 s makes 10 reads in that time; the rest is for events and new leaders. */
const READS_MAX = 60

const WORKER = /\/workers\/(w-[^/?]+)$/

/** During an EC2 outage the controller reconciles a worker with backoff; each reconcile reads the worker from the API. */
export function outageBackoff(parts: {
  cloud: SimModel
  now(): number
  violated(rule: string): void
}): (dispatch: Dispatch) => Dispatch {
  const reads = new Map<string, number[]>()

  function noteRead(worker: string): void {
    const nowMs = parts.now()
    const recent = [...(reads.get(worker) ?? []), nowMs].filter(atMs => nowMs - atMs < WINDOW_MS)
    reads.set(worker, recent)
    if (recent.length > READS_MAX)
      parts.violated(`${worker} was read more than ${READS_MAX} times in 5 min while EC2 did not respond`)
  }

  return dispatch => request => {
    const worker = request.method === 'GET' ? WORKER.exec(request.url)?.[1] : undefined
    if (parts.cloud.faults.plan().lost_request_rate < 1) reads.clear()
    else if (worker !== undefined) noteRead(worker)
    return dispatch(request)
  }
}
