import type { Client } from '@lcm/client/client'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { systemClock } from '@lcm/runtime/clock'
import { type Learner, WHOLE_STORY } from './learner.ts'

/** A class that books sessions, uses them, and cancels them. */
export interface ClassLoad {
  /** Books sessions until there are so many, without waiting for them. */
  bookUpTo(count: number): void
  /** Waits until every booked session runs, and counts their labs. */
  allRun(): Promise<void>
  cancelUpTo(count: number): void
  /** Waits until every session has ended. */
  over(): Promise<void>
  verdict(): { readonly lost: readonly string[]; readonly labsAstray: readonly string[] }
}

const POLL_MS = 200
const TIMEOUT_MS = 240_000
const ENDED = ['TERMINATED', 'EXPIRED', 'ARCHIVED']

export function classLoad(client: Client, learner: Learner): ClassLoad {
  const booked: Promise<LabletSession>[] = []
  const canceled: Promise<unknown>[] = []
  const lost: string[] = []
  const labsAstray: string[] = []

  /** Reads all sessions with one list request. */
  async function until(holds: (session: LabletSession) => boolean): Promise<void> {
    const ids = new Set((await Promise.all(booked)).map(({ id }) => id))
    const deadline = systemClock.monotonic() + TIMEOUT_MS
    for (;;) {
      const { items } = await client.call('listSessions', { query: { limit: 1000, include_finished: true } })
      const missing = items.filter(session => ids.has(session.id) && !holds(session))
      const isOver = missing.length === 0 && items.length >= ids.size
      if (isOver || systemClock.monotonic() > deadline) return
      await systemClock.sleep(POLL_MS)
    }
  }
  async function countLabs(wanted: number): Promise<void> {
    for (const { id } of await Promise.all(booked)) {
      const labs = await learner.labsOf(id)
      if (labs !== wanted) labsAstray.push(`${id} has ${labs} labs instead of ${wanted}`)
    }
  }

  return {
    bookUpTo(count) {
      while (booked.length < count) {
        const session = learner.book()
        // The caller that awaits all bookings gets the error.
        session.catch(() => undefined)
        booked.push(session)
      }
    },
    async allRun() {
      await until(({ status }) => status === 'RUNNING' || ENDED.includes(status))
      for (const { id } of await Promise.all(booked)) {
        const { status } = await learner.session(id)
        if (status !== 'RUNNING') lost.push(`${id} is ${status} instead of RUNNING`)
      }
      await countLabs(1)
    },
    cancelUpTo(count) {
      for (const session of booked.slice(canceled.length, count))
        canceled.push(session.then(({ id }) => client.call('cancelSession', { params: { id } })))
    },
    async over() {
      await Promise.all(canceled)
      await until(({ status }) => ENDED.includes(status))
      for (const { id } of await Promise.all(booked)) {
        const { status, last_error, state_history } = await learner.session(id)
        const story = state_history.map(({ to }) => to)
        const isWhole = last_error === null && story.join() === WHOLE_STORY.join()
        if (!isWhole) lost.push(`${id} is ${status} (${last_error ?? 'no error'}) after ${story.join(', ')}`)
      }
      await countLabs(0)
    },
    verdict: () => ({ lost, labsAstray }),
  }
}
