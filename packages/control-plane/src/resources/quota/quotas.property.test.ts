import { toInstant } from '@lcm/domain/instant'
import { countsInQuota } from '@lcm/domain/quota/booking-ledger'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openCollections } from '../../resources.ts'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

const LIMITS = { live: 2, future: 3 }
const SETTINGS = { quota_user_live_sessions: LIMITS.live, quota_user_future_sessions: LIMITS.future }
const CONFIG = { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1'] } as const
const MINUTE_MS = 60_000

type Step =
  | { readonly kind: 'book'; readonly count: number; readonly inMinutes: number; readonly key: number }
  | { readonly kind: 'cancel' | 'extend'; readonly nth: number }
  | { readonly kind: 'wait'; readonly minutes: number }
  | { readonly kind: 'tend' }
  | {
      readonly kind: 'crash'
      readonly of: 'quota' | 'session'
      readonly write: 'insert' | 'replace'
      readonly when: 'before' | 'after'
    }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('book' as const),
      count: fc.integer({ min: 1, max: 5 }),
      inMinutes: fc.constantFrom(0, 0, 20, 60),
      key: fc.integer({ min: 0, max: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('cancel' as const, 'extend' as const), nth: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), minutes: fc.constantFrom(1, 15, 40) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'tend' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      of: fc.constantFrom('quota' as const, 'session' as const),
      write: fc.constantFrom('insert' as const, 'replace' as const),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
)

const stored = (course: Course) => openCollections(course.store)
const countingSessions = async (course: Course) =>
  (await stored(course).sessions.list({ limit: 1000 })).filter(
    session => countsInQuota(session) && session.timeslot.end > toInstant(course.clock.now()),
  )

async function book(course: Course, { count, inMinutes, key }: Extract<Step, { kind: 'book' }>, round: number) {
  const start = inMinutes === 0 ? {} : { start: toInstant(course.clock.now() + inMinutes * MINUTE_MS) }
  const json = { definition: 'bgp', duration_minutes: 30, ...start }
  // A few keys, so that some requests repeat an earlier one of the same round.
  const headers = (nth: number) => ({ 'idempotency-key': `${round}-${key === 0 ? 'same' : nth}` })
  const send = (nth: number) => course.send('POST', 'lablet-sessions', { as: 'user', headers: headers(nth), json })
  return Promise.all(Array.from({ length: count }, (_, nth) => send(nth)))
}

async function act(course: Course, now: Step, round: number): Promise<void> {
  switch (now.kind) {
    case 'book': {
      const answers = await book(course, now, round)
      for (const { status, json } of answers)
        if (status === 409) expect(['quota_exceeded', 'idempotency_in_progress']).toContain(json.code)
      return
    }
    case 'cancel':
    case 'extend': {
      const sessions = await countingSessions(course)
      const id = sessions[now.nth % Math.max(1, sessions.length)]?.id ?? 'ls-none'
      if (now.kind === 'cancel') await course.send('DELETE', `lablet-sessions/${id}`, { as: 'user' })
      else await course.send('POST', `lablet-sessions/${id}/extend`, { as: 'user', json: { minutes: 10 } })
      return
    }
    case 'wait':
      return course.clock.advance(now.minutes * MINUTE_MS)
    case 'tend':
      return course.tend()
    case 'crash':
      return course.store.interrupt({ kind: now.of, write: now.write, when: now.when, run: crash })
  }
}

/** At no time more sessions than the limit, and no booking beyond that of future ones. */
async function checkLimits(course: Course, before: ReadonlySet<string>): Promise<void> {
  const now = toInstant(course.clock.now())
  const sessions = await countingSessions(course)
  for (const { timeslot } of sessions) {
    const atOnce = sessions.filter(each => each.timeslot.start <= timeslot.start && timeslot.start < each.timeslot.end)
    expect(atOnce.length).toBeLessThanOrEqual(LIMITS.live)
  }
  const future = sessions.filter(({ timeslot }) => timeslot.start > now)
  if (future.some(({ id }) => !before.has(id))) expect(future.length).toBeLessThanOrEqual(LIMITS.future)
}

async function checkLedger(course: Course): Promise<void> {
  course.store.interrupt({ kind: 'none', write: 'insert', when: 'before', run: crash })
  await course.tend()
  const { ledger = {} } = (await stored(course).quotas.get('user')) ?? {}
  const now = toInstant(course.clock.now())
  const open = Object.entries(ledger).flatMap(([id, { is_over, end }]) => (is_over || end <= now ? [] : [id]))
  const sessions = await countingSessions(course)
  expect(open.toSorted()).toEqual(sessions.map(({ id }) => id).toSorted())
}

it('in every order of bookings, ends and crashes no quota is exceeded, and no capacity of it is lost for long', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const course = aCourse({ config: { ...CONFIG, settings: SETTINGS } })
      await course.define({ max_duration_minutes: 60 })
      for (const [round, each] of steps.entries()) {
        const before = new Set((await countingSessions(course)).map(({ id }) => id))
        await act(course, each, round)
        await checkLimits(course, before)
      }
      await checkLedger(course)
      await course.store.close()
    }),
    { numRuns: 60 },
  )
})
