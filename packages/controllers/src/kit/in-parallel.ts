export interface ParallelOptions<T> {
  readonly atOnce: number
  /** Nothing more begins once it has aborted. */
  readonly signal?: AbortSignal
  /** Items of the same lane run one after another, in their order. */
  laneOf?(item: T): string
}

/**
 * Runs the work for all items, at most `atOnce` at a time. After a failure nothing more begins; it is thrown once all work in
 * progress has ended.
 */
export async function inParallel<T>(
  items: readonly T[],
  { atOnce, signal, laneOf }: ParallelOptions<NoInfer<T>>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const lanes = (laneOf === undefined ? items.map(item => [item]) : lanesBy(items, laneOf)).values()
  const failures: unknown[] = []

  async function runLane(lane: readonly T[]): Promise<void> {
    for (const item of lane) {
      if (failures.length > 0 || signal?.aborted) return
      try {
        await work(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  async function runLanes(): Promise<void> {
    for (const lane of lanes) await runLane(lane)
  }

  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, runLanes))
  if (failures.length > 0) throw failures[0]
}

function lanesBy<T>(items: readonly T[], laneOf: (item: T) => string): readonly (readonly T[])[] {
  const lanes = new Map<string, T[]>()
  for (const item of items) {
    const lane = lanes.get(laneOf(item))
    if (lane === undefined) lanes.set(laneOf(item), [item])
    else lane.push(item)
  }
  return [...lanes.values()]
}
