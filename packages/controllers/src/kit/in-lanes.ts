/**
 * Works through lanes of items, so many lanes at once and each in its order. After a failure nothing more is begun; it is
 * thrown once what was under way has ended, so that nothing goes on behind the caller's back.
 */
export async function inLanes<T>(
  lanes: Iterable<readonly T[]>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = lanes[Symbol.iterator]()
  const failures: unknown[] = []

  async function walk(lane: readonly T[]): Promise<void> {
    for (const item of lane) {
      if (failures.length > 0) return
      try {
        await work(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  async function hand(): Promise<void> {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await walk(next.value)
  }

  await Promise.all(Array.from({ length: atOnce }, hand))
  if (failures.length > 0) throw failures[0]
}

/** Items with the same name are in one lane, in the order in which they came. */
export function lanesBy<T>(items: readonly T[], nameOf: (item: T) => string): readonly (readonly T[])[] {
  const lanes = new Map<string, T[]>()
  for (const item of items) {
    const lane = lanes.get(nameOf(item))
    if (lane === undefined) lanes.set(nameOf(item), [item])
    else lane.push(item)
  }
  return [...lanes.values()]
}
