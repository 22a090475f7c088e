import { setMaxListeners } from 'node:events'

/** Admits a bounded number of callers at once, first come first served. */
export interface AdmissionGate {
  /**
   * Resolves with a function that releases the slot, to be called once. Rejects when one of the signals aborts while
   * waiting.
   */
  enter(...signals: readonly AbortSignal[]): Promise<() => void>
  /** No caller holds a slot or waits. */
  isEmpty(): boolean
}

export function admissionGate(max: number): AdmissionGate {
  const waiting = new Set<() => void>()
  let inside = 0
  const leave = () => {
    const [next] = waiting
    if (next) next()
    else inside -= 1
  }
  const slotFree = (signals: readonly AbortSignal[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const stopWaiting = () => {
        waiting.delete(letIn)
        for (const signal of signals) signal.removeEventListener('abort', giveUp)
      }
      const giveUp = () => {
        stopWaiting()
        reject(signals.find(signal => signal.aborted)?.reason)
      }
      const letIn = () => {
        stopWaiting()
        resolve()
      }
      waiting.add(letIn)
      for (const signal of signals) {
        // Any number of callers may wait on the same signal, and each removes its listener.
        setMaxListeners(0, signal)
        signal.addEventListener('abort', giveUp)
      }
    })
  return {
    async enter(...signals) {
      for (const signal of signals) signal.throwIfAborted()
      if (inside < max) inside += 1
      else await slotFree(signals)
      return leave
    },
    isEmpty: () => inside === 0 && waiting.size === 0,
  }
}

/**
 * Runs `work` for every item, at most `max` at once, and returns the results in order. Starts no more after a failure.
 */
export async function mapConcurrently<Item, Answer>(
  items: readonly Item[],
  max: number,
  work: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  let hasFailed = false
  const worker = async () => {
    while (next < items.length && !hasFailed) {
      const index = next
      next += 1
      try {
        answers[index] = await work(items[index] as Item)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, worker))
  return answers
}
