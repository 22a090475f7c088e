import type { Election, Leadership, WatchSource } from '@lcm/runtime'
import { type Clock, sleepOn } from '@lcm/runtime/clock'

/**
 * A process that can be frozen and thawed, as by SIGSTOP: no timer fires, no response arrives and no signal aborts while it is
 * frozen. When it is thawed, responses arrive first, then timers, and last the loss of its lease.
 */
export interface FreezableProcess {
  readonly clock: Clock
  freeze(): void
  /** Sets its wall clock; deadlines and timers are unaffected. */
  jump(ms: number): void
  thaw(): void
  /** Resolves at once unless the process is frozen. */
  awake(): Promise<void>
  lateElection<E extends Election>(election: E): E
  lateWatch<Hint>(source: WatchSource<Hint>): WatchSource<Hint>
}

export function freezableProcess(outside: Clock): FreezableProcess {
  const wakes = new Set<() => void>()
  const parked = new Set<() => void>()
  const aborts: (() => void)[] = []
  let isFrozen = false
  let aheadMs = 0

  const clock: Clock = {
    ...outside,
    now: () => outside.now() + aheadMs,
    after(ms, run) {
      const fire = () => {
        if (isFrozen) parked.add(run)
        else run()
      }
      const cancel = outside.after(ms, fire)
      return () => {
        cancel()
        parked.delete(run)
      }
    },
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
  }

  const awake = (): Promise<void> => (isFrozen ? new Promise(resolve => wakes.add(resolve)) : Promise.resolve())

  function lateLeadership(leadership: Leadership): Leadership {
    const late = new AbortController()
    const abort = () => late.abort(leadership.signal.reason)
    leadership.signal.addEventListener('abort', () => (isFrozen ? aborts.push(abort) : abort()), { once: true })
    if (leadership.signal.aborted) abort()
    return { ...leadership, signal: late.signal, isHeld: () => leadership.isHeld() }
  }

  return {
    clock,
    awake,
    jump(ms) {
      aheadMs += ms
    },
    freeze() {
      isFrozen = true
    },
    thaw() {
      isFrozen = false
      for (const wake of wakes) wake()
      wakes.clear()
      outside.after(1, () => {
        for (const run of parked) run()
        parked.clear()
      })
      outside.after(2, () => {
        for (const abort of aborts.splice(0)) abort()
      })
    },
    lateElection: election => ({
      ...election,
      async campaign(signal) {
        const leadership = await election.campaign(signal)
        await awake()
        return leadership && lateLeadership(leadership)
      },
    }),
    lateWatch: source => lateSource(source, awake),
  }
}

/** A frozen process receives stream messages when it is thawed. */
const lateSource = <Hint>(source: WatchSource<Hint>, awake: () => Promise<void>): WatchSource<Hint> => ({
  async list(signal) {
    const listing = await source.list(signal)
    await awake()
    return listing
  },
  async *watch(afterRevision, signal) {
    for await (const message of source.watch(afterRevision, signal)) {
      await awake()
      yield message
    }
  },
})
