import type { When } from '../faults/fault-points.ts'
import { isRead } from '../world/port-calls.ts'
import { openWorld, type World } from '../world/world.ts'
import type { Path } from './worker-crash-paths.ts'

/** The successor after a crash: a standby, or the same process restarted after a delay. */
const SUCCESSIONS = ['standby', 'restart'] as const
export type Succession = (typeof SUCCESSIONS)[number]

export interface CrashPoint {
  readonly call: number
  readonly when: When
  readonly successor: Succession
}

export const RESTARTED_AFTER_MS = 20_000
/** Time for the last effects. */
const SETTLED_MS = 60_000

/** The port calls of a path without a crash. */
export async function callsOf(path: Path, seed: number): Promise<readonly string[]> {
  const world = await openWorld(seed, path.options)
  world.startWorkerController('one')
  await finish(path, world)
  return world.calls.names
}

/** Runs the path with a controller that dies at the crash point. Rejects unless the outcome equals an undisturbed run. */
export async function crashRun(path: Path, seed: number, point: CrashPoint): Promise<void> {
  const world = await openWorld(seed, path.options)
  const one = world.startWorkerController('one')
  if (point.successor === 'standby') world.startWorkerController('two')
  world.calls.crashAt(point.call, point.when, () => {
    one.kill()
    if (point.successor === 'restart')
      world.time.clock.after(RESTARTED_AFTER_MS, () => world.startWorkerController('two'))
  })
  try {
    await finish(path, world)
  } catch (cause) {
    throw new Error(`${path.name}, killed ${point.when} call ${point.call} (${world.calls.names[point.call]})`, {
      cause,
    })
  }
}

async function finish(path: Path, world: World): Promise<void> {
  await path.walk(world)
  await world.runFor(SETTLED_MS)
  const { machines } = world.invariants
  if (machines.size > path.machines)
    throw new Error(`${machines.size} machines existed; expected at most ${path.machines}`)
  await world.close()
}

/** Crash points before and after every call. */
export const everyPoint = (names: readonly string[]): CrashPoint[] =>
  [...names.keys()].flatMap(call =>
    (['before', 'after'] as const).flatMap(when => SUCCESSIONS.map(successor => ({ call, when, successor }))),
  )

/** Crash points before and after one call of each mutating kind and some reads, with alternating successors. */
export function somePoints(names: readonly string[], readsSampled: number): CrashPoint[] {
  const seen = new Set<string>()
  const calls = [...names.keys()].filter(call => {
    const name = names[call] ?? ''
    if (isRead(name)) return call % readsSampled === 0
    const isNew = !seen.has(name)
    seen.add(name)
    return isNew
  })
  return calls.flatMap((call, index) =>
    (['before', 'after'] as const).map(when => ({ call, when, successor: SUCCESSIONS[index % 2] ?? 'standby' })),
  )
}
