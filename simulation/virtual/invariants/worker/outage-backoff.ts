import type { SimModel } from '@lcm/cloud-sim/model'
import type { Dispatch } from '@lcm/contract/wire'
import { MINUTE_MS } from '../../world/durations.ts'

const WINDOW_MS = 5 * MINUTE_MS
/** A backoff of 1 to 60 s makes 10 looks in that time; the rest is for news, and for leaders that begin again. */
const READS_MAX = 60

const WORKER = /\/workers\/(w-[^/?]+)$/

/** While EC2 answers no call, the controller looks at a worker ever less often: each look reads the worker from the API. */
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
      parts.violated(`${worker} was looked at more than ${READS_MAX} times in 5 min without an answer of EC2`)
  }

  return dispatch => request => {
    const worker = request.method === 'GET' ? WORKER.exec(request.url)?.[1] : undefined
    if (parts.cloud.faults.plan().lost_request_rate < 1) reads.clear()
    else if (worker !== undefined) noteRead(worker)
    return dispatch(request)
  }
}
