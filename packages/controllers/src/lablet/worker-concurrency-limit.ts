/** Limits concurrent work per worker. A caller without a slot retries later instead of queueing. */
export interface WorkerSlots {
  /** Null when all slots of that worker are taken. */
  tryWith<Answer>(workerId: string, work: () => Promise<Answer>): Promise<Answer> | null
}

export function workerSlots(perWorkerMax: number): WorkerSlots {
  const taken = new Map<string, number>()

  async function within<Answer>(workerId: string, work: () => Promise<Answer>): Promise<Answer> {
    taken.set(workerId, (taken.get(workerId) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const left = (taken.get(workerId) ?? 1) - 1
      if (left === 0) taken.delete(workerId)
      else taken.set(workerId, left)
    }
  }

  return {
    tryWith: (workerId, work) => ((taken.get(workerId) ?? 0) >= perWorkerMax ? null : within(workerId, work)),
  }
}
