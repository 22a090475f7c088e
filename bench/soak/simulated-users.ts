import { setMaxListeners } from 'node:events'
import { ApiError, type Client, UnreachableError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import type { SeededRandom } from '@lcm/testkit/seeded-random'
import { type Habit, habitsAt } from './user-habits.ts'

export interface People {
  /** Number of tasks by name; refused ones count as `refused`, and those without a response as `unanswered`. */
  readonly counts: ReadonlyMap<string, number>
  /** Resolves when all users have ended. */
  leave(): Promise<void>
}

const AGAIN_MS = 1_000

/** Users with their habits, and one that follows all changes. */
export function peopleAt(client: Client, random: SeededRandom): People {
  const stop = new AbortController()
  // Waiting tasks listen to it.
  setMaxListeners(0, stop.signal)
  const counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
  const pause = (ms: number) => systemClock.sleep(ms, stop.signal)
  const visits = new Set<Promise<void>>()

  /** Refused tasks are retried at the next interval. */
  async function visit({ name, act }: Habit): Promise<void> {
    try {
      await act()
      count(name)
    } catch (error) {
      if (stop.signal.aborted) return
      if (error instanceof ApiError) count('refused')
      else if (error instanceof UnreachableError) count('unanswered')
      else throw error
    }
  }

  async function keep(habit: Habit): Promise<void> {
    while (!stop.signal.aborted) {
      const visiting = visit(habit).finally(() => visits.delete(visiting))
      visits.add(visiting)
      await pause(habit.everyMs).catch(() => undefined)
    }
  }

  async function follow(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        for await (const _ of client.events({ signal: stop.signal })) count('events followed')
      } catch {
        if (!stop.signal.aborted) count('streams broken')
      }
      await pause(AGAIN_MS).catch(() => undefined)
    }
  }

  const all = [follow(), ...habitsAt(client, random, pause).map(keep)]
  return {
    counts,
    async leave() {
      stop.abort()
      await Promise.all(all)
      await Promise.allSettled(visits)
    },
  }
}
