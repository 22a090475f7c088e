import { toInstant } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Store } from '@lcm/store/store'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { offerMachines, TOPOLOGY } from './bookable-fleet.ts'

const CONFIG = {
  version: '0.0.0',
  profile: 'cluster',
  cloud: 'sim',
  regions: ['us-east-1'],
  settings: { max_workers_per_region: 2 },
} as const
/** Two machines, each with a license for 10 sessions. */
export const SEATS_AT_ONCE = 20
const HOUR_MS = 3_600_000

export interface CalendarRush {
  readonly admitted: number
  /** Codes of all refusals. */
  readonly codes: ReadonlySet<string>
  /** The most admitted sessions at one time. */
  readonly atOnce: number
  /** Whether any request was admitted in part. */
  readonly isPartial: boolean
}

/** Concurrent bookings at random times and cancellations, on replicas of the API that share a store. */
export async function calendarRush(
  store: Store,
  { bookings, replicas, seed }: { bookings: number; replicas: number; seed: number },
): Promise<CalendarRush> {
  const random = seededRandom(seed)
  const planes = Array.from({ length: replicas }, (_, n) =>
    aControlPlane({ store, config: CONFIG, randomBytes: seededRandom(seed + n).bytes }),
  )
  const [first] = planes as [AControlPlane]
  const stops = planes.map(plane => plane.run('change-key-feed', 'announcer'))
  await offerMachines(first)
  await first.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })
  const origin = Math.ceil(first.clock.now() / HOUR_MS) * HOUR_MS

  async function one(nth: number): Promise<{ seats: number; booked: number; code: string | null }> {
    const plane = planes[nth % replicas] ?? first
    const seats = 1 + Math.floor(random.float() * 4)
    const start = toInstant(origin + Math.floor(random.float() * 8) * (HOUR_MS / 2))
    const json = { definition: 'bgp', seats, start, duration_minutes: 30 + Math.floor(random.float() * 30) }
    const answer = await plane.send('POST', 'lablet-sessions/batch', { as: 'admin', json })
    if (answer.status !== 201) return { seats, booked: 0, code: answer.json.code }
    const items: LabletSession[] = answer.json.items
    if (random.float() < 0.2) await plane.send('DELETE', `lablet-sessions/${items[0]?.id}`)
    return { seats, booked: items.length, code: null }
  }

  const answers = await Promise.all(Array.from({ length: bookings }, (_, nth) => one(nth)))
  for (const stop of stops) await stop()
  const open = (await first.all('sessions')).filter(({ desired_status }) => desired_status === 'RUNNING')
  return {
    admitted: answers.reduce((sum, { booked }) => sum + booked, 0),
    codes: new Set(answers.flatMap(({ code }) => code ?? [])),
    atOnce: Math.max(...open.map(({ admission }) => sessionsAt(open, admission.span?.from ?? ''))),
    isPartial: answers.some(({ seats, booked }) => booked !== 0 && booked !== seats),
  }
}

const sessionsAt = (sessions: readonly LabletSession[], at: string): number =>
  sessions.filter(({ admission: { span } }) => span !== null && span.from <= at && at < span.until).length
