import type { Worker } from '@lcm/domain/worker/worker'

/** From the first pause, which doubles with every repetition, to the longest. */
const PAUSE_MS = { first: 60_000, longest: 30 * 60_000 } as const

interface Sent {
  readonly name: string
  readonly pauseMs: number
  readonly untilMs: number
}

/**
 * When the names of machines were last set as tags. Setting one again needs a pause: EC2 may refuse it, may show it late, or
 * another tool may change it back. Memory only: a new leader may set a name once more, which does no harm.
 */
export interface TagBackoff {
  sent(worker: Worker, nowMs: number): void
  /** 0 when the name may be set now. A new name never waits for an old one. */
  leftMs(worker: Worker, nowMs: number): number
  forget(workerId: string): void
  /** A new term starts over. */
  clear(): void
}

export function tagBackoff(): TagBackoff {
  const last = new Map<string, Sent>()
  /** A repetition long after the last pause is a new matter. */
  const repeated = ({ id, name }: Worker, nowMs: number): Sent | null => {
    const sent = last.get(id)
    return sent !== undefined && sent.name === name && nowMs < sent.untilMs + PAUSE_MS.longest ? sent : null
  }
  return {
    sent(worker, nowMs) {
      const before = repeated(worker, nowMs)
      const pauseMs = before === null ? PAUSE_MS.first : Math.min(2 * before.pauseMs, PAUSE_MS.longest)
      last.set(worker.id, { name: worker.name, pauseMs, untilMs: nowMs + pauseMs })
    },
    leftMs: (worker, nowMs) => Math.max(0, (repeated(worker, nowMs)?.untilMs ?? nowMs) - nowMs),
    forget: workerId => void last.delete(workerId),
    clear: () => last.clear(),
  }
}
