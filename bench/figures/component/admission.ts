/** Bookings of 200 seats among 10,000 future sessions on a SQLite file, and reads of the same process meanwhile. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { STORE_SCHEMA } from '@lcm/control-plane/resources'
import { newSession } from '@lcm/control-plane/resources/session/new-session-document'
import { offerMachines, TOPOLOGY } from '@lcm/control-plane/testing/bookable-fleet'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane, NO_QUOTAS } from '@lcm/testkit/a-control-plane'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { atMost, conclude, measured, p99AtMost, wordsOf } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

const SESSIONS = 10_000
const SEATS = 200
const BOOKINGS = 20
const DAYS = 60
const BAR_MS = 1_000
const READ_BAR_MS = 10
const READ_EVERY_MS = 5
const QUIET_MS = 3_000
/** Each has a license for 10 sessions. */
const WORKERS_MAX = 50
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const folder = mkdtempSync(join(tmpdir(), 'lcm-admission-'))
const store = openSqliteStore(join(folder, 'lcm.sqlite'), { schema: STORE_SCHEMA, gather: setImmediate })
const settings = { ...NO_QUOTAS, max_workers_per_region: WORKERS_MAX }
const config = { version: '0.0.0', profile: 'embedded', cloud: 'sim', regions: ['us-east-1'], settings } as const
const plane = aControlPlane({ store, config, clock: systemClock })
await offerMachines(plane)
const definition = (await plane.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })).json

const random = seededRandom(1)
const today = Math.ceil(systemClock.now() / DAY_MS) * DAY_MS
const ids = Array.from({ length: SESSIONS }, (_, n) => `ls-${String(n).padStart(13, '0')}`)
for (const [n, id] of ids.entries()) {
  const startMs = today + random.int(DAYS) * DAY_MS + (8 + random.int(10)) * HOUR_MS
  const timeslot = { start: toInstant(startMs), end: toInstant(startMs + HOUR_MS) }
  const span = { from: toInstant(startMs - HOUR_MS / 12), until: toInstant(startMs + HOUR_MS + HOUR_MS / 30) }
  const session = newSession(id, definition, { timeslot, owner: 'user', by: 'user', reservation_id: null })
  const admission = { kind: 'admitted', at_risk: null, number: n + 1, span, machine: null } as const
  await plane.put('sessions', { ...session, admission })
}
const now = toInstant(systemClock.now())
await plane.put('calendars', {
  ...{ id: 'calendar', version: 1, created_at: now, updated_at: now },
  ...{ number: SESSIONS, batch: null },
})

/** The time of a request, in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = systemClock.monotonic()
  await work()
  return systemClock.monotonic() - began
}

/** Each read is due at a fixed time, so a blocked process counts. */
async function readUntil(isOver: () => boolean): Promise<number[]> {
  const reads: number[] = []
  for (let dueMs = systemClock.monotonic(); !isOver(); dueMs += READ_EVERY_MS) {
    await systemClock.sleep(Math.max(0, dueMs - systemClock.monotonic()))
    await plane.send('GET', `lablet-sessions/${ids[random.int(SESSIONS)]}`)
    reads.push(systemClock.monotonic() - dueMs)
    dueMs = Math.max(dueMs, systemClock.monotonic() - READ_EVERY_MS)
  }
  return reads
}

const at = (n: number) => toInstant(today + n * DAY_MS + 12 * HOUR_MS)
const book = async (start: string, status: number) => {
  const json = { definition: 'bgp', seats: SEATS, start, duration_minutes: 60 }
  const answer = await plane.send('POST', 'lablet-sessions/batch', { json })
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.body}`)
}
const first = await timed(() => book(at(0), 201))
const quietUntilMs = systemClock.monotonic() + QUIET_MS
const quiet = await readUntil(() => systemClock.monotonic() >= quietUntilMs)
let areBooked = false
const reading = readUntil(() => areBooked)
const admitted: number[] = []
const refused: number[] = []
for (let n = 1; n <= BOOKINGS; n += 1) {
  admitted.push(await timed(() => book(at(n), 201)), await timed(() => book(at(n), 201)))
  refused.push(await timed(() => book(at(n), 409)))
}
areBooked = true
const reads = await reading
await store.close()
rmSync(folder, { recursive: true })

const ratio = quantilesOf(reads).p99 / Math.max(0.1, quantilesOf(quiet).p99)
const slowest = (values: readonly number[]) => ({ value: Math.round(Math.max(...values)), unit: 'ms' })
conclude({
  bench: 'admission',
  figures: [
    atMost(`${SEATS} seats admitted among ${SESSIONS} future sessions, the slowest`, BAR_MS, slowest(admitted)),
    atMost(`${SEATS} seats refused with the nearest times, the slowest`, BAR_MS, slowest(refused)),
    measured('the first booking after a start, which reads all sessions', `${Math.round(first)} ms`),
    measured('reads of a session without bookings', wordsOf(quantilesOf(quiet))),
    measured('p99 of reads meanwhile to reads without bookings', `${ratio.toFixed(1)} x`),
    p99AtMost('reads of a session meanwhile', READ_BAR_MS, quantilesOf(reads), `${reads.length} reads`),
  ],
})
