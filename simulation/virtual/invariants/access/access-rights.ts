/** Longest time that a right may work after the end of it was answered. */
const ENDED_MS_MAX = 5_000

interface Ending {
  readonly by: string
  readonly atMs: number
}

/** A token, a login link, a browser session, an event stream, or a role. */
export interface Right {
  readonly name: string
  /** The right that it was obtained with; it ends with it. */
  readonly from: Right | null
  ended: Ending | null
  /** Until then it may or may not work. */
  doubtfulUntilMs: number
}

/** How a request to end rights was answered. */
export type EndOutcome = 'done' | 'refused' | 'unknown'

export interface AccessRights {
  begin(name: string, from?: Right | null): Right
  /** Rights that a request may end. Returns a function that receives the outcome. */
  end(rights: Iterable<Right>, by: string): (outcome: EndOutcome) => void
  /** They don't work until the outcome is known, and then work again. */
  suspend(rights: Iterable<Right>): (outcome: EndOutcome) => void
  /** A request with this right was answered. */
  answered(right: Right, what: string, answer: { sentMs: number; status: number; code: string }): void
  /** An event stream with this right delivered something. */
  delivered(right: Right): void
}

/** No right works for more than five seconds after its end, and a right that has not ended is never refused. */
export function accessRights({ now, violated }: { now(): number; violated(rule: string): void }): AccessRights {
  const doubt = (rights: readonly Right[], untilMs: number) => {
    for (const right of rights) right.doubtfulUntilMs = untilMs
  }
  /** Refuses a use more than five seconds after the end. */
  function checkUse(right: Right, what: string, atMs: number): void {
    const ending = endOf(right)
    if (ending === null || atMs - ending.atMs <= ENDED_MS_MAX) return
    violated(`${right.name} ${what} ${Math.round((atMs - ending.atMs) / 1000)} s after ${ending.by}`)
  }

  return {
    begin: (name, from = null) => ({ name, from, ended: null, doubtfulUntilMs: 0 }),
    end(rights, by) {
      const ending = [...rights].filter(right => right.ended === null)
      doubt(ending, Number.POSITIVE_INFINITY)
      return outcome => {
        if (outcome === 'refused') doubt(ending, now() + ENDED_MS_MAX)
        if (outcome === 'done') for (const right of ending) right.ended ??= { by, atMs: now() }
      }
    },
    suspend(rights) {
      const suspended = [...rights]
      doubt(suspended, Number.POSITIVE_INFINITY)
      return outcome => {
        if (outcome !== 'unknown') doubt(suspended, now() + ENDED_MS_MAX)
      }
    },
    answered(right, what, { sentMs, status, code }) {
      if (status < 300) checkUse(right, `was accepted for ${what}`, sentMs)
      if (status === 401 || code === 'too_many_attempts')
        if (isCertain(right, sentMs)) violated(`${right.name} was refused for ${what} with ${code}, and had not ended`)
    },
    delivered: right => checkUse(right, 'delivered', now()),
  }
}

const endOf = ({ ended, from }: Right): Ending | null => ended ?? (from && endOf(from))

const isCertain = ({ ended, doubtfulUntilMs, from }: Right, atMs: number): boolean =>
  ended === null && doubtfulUntilMs < atMs && (from === null || isCertain(from, atMs))
