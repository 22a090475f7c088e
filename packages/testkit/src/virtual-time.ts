import { createHash } from 'node:crypto'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import { type SimulatedClock, timeMachine } from './time-machine.ts'

/** Time, random values and a trace from one seed: the same seed gives the same run. */
export interface VirtualTime {
  readonly seed: number
  readonly clock: SimulatedClock
  readonly random: SeededRandom
  runFor(ms: number): Promise<void>
  /** Runs until `condition` holds, checking between any two timers; false when it did not within `limitMs`. */
  runUntil(condition: () => boolean, limitMs: number): Promise<boolean>
  /** Adds a line with the virtual time. Two runs are the same when their hashes are. */
  trace(line: string): void
  traceHash(): string
  /** Notes one observable effect: a call with its status, a status of a resource, a change of the cloud. Holds no wording. */
  behavior(line: string): void
  /** Stays the same when only texts change. Effects of the same millisecond count in any order. */
  behaviorHash(): string
  /** Notes the next state of a resource. */
  history(resource: string, state: string): void
  /**
   * Hashes the states of each resource in their order, without time and without the order between resources; a repeated state
   * counts once. In short runs it mostly stays the same when concurrent tasks of the same millisecond swap.
   */
  historyHash(): string
  /** The newest lines, oldest first. */
  recentTrace(): readonly string[]
}

const TRACE_LINES_KEPT_MAX = 1_000

/** Timers of the same instant fire in an order drawn from the seed, so that no test relies on an order by accident. */
export function virtualTime(seed: number, wallClockStartMs?: number): VirtualTime {
  // Ties have a stream of their own: one more timer must not change what the simulated people do.
  const ties = seededRandom(seed + 0.5 * 2 ** 52)
  const { clock, move } = timeMachine(() => ties.float(), wallClockStartMs)
  const hash = createHash('sha256')
  const behavior = behaviorFingerprint()
  const histories = historyFingerprint()
  const lines: string[] = []
  return {
    seed,
    clock,
    random: seededRandom(seed),
    runFor: ms => move(ms),
    async runUntil(condition, limitMs) {
      await move(limitMs, condition)
      return condition()
    },
    trace(line) {
      const stamped = `${clock.monotonic()} ${line}`
      hash.update(`${stamped}\n`)
      lines.push(stamped)
      if (lines.length > 2 * TRACE_LINES_KEPT_MAX) lines.splice(0, TRACE_LINES_KEPT_MAX)
    },
    traceHash: () => hash.copy().digest('hex').slice(0, 16),
    behavior: line => behavior.note(clock.monotonic(), line),
    behaviorHash: behavior.hash,
    history: histories.note,
    historyHash: histories.hash,
    recentTrace: () => lines.slice(-TRACE_LINES_KEPT_MAX),
  }
}

function behaviorFingerprint() {
  const hash = createHash('sha256')
  let atMs = 0
  let pending: string[] = []
  const flushed = (into: ReturnType<typeof createHash>) => into.update(`${atMs}\n${pending.toSorted().join('\n')}\n`)
  return {
    note(ms: number, line: string) {
      if (ms !== atMs) {
        flushed(hash)
        pending = []
        atMs = ms
      }
      pending.push(line)
    },
    hash: (): string => flushed(hash.copy()).digest('hex').slice(0, 16),
  }
}

function historyFingerprint() {
  const histories = new Map<string, string[]>()
  return {
    note(resource: string, state: string) {
      const states = histories.get(resource) ?? []
      histories.set(resource, states)
      if (states.at(-1) !== state) states.push(state)
    },
    hash(): string {
      const sorted = [...histories].toSorted(([a], [b]) => (a < b ? -1 : 1))
      return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16)
    },
  }
}
