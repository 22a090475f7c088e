import { gzipSync } from 'node:zlib'
import { keyIdIn } from '@lcm/control-plane/crypto'
import { storedKeys } from '@lcm/control-plane/keys/secret-keys'
import { assert } from '@lcm/domain/assert'
import { toInstant, toMs } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import type { Save } from '@lcm/domain/save/save'
import { openSqliteFile } from '@lcm/store/sqlite/database-file'
import { sqliteStore } from '@lcm/store/sqlite/store'
import type { Store } from '@lcm/store/store'
import { crashableSqlite } from '@lcm/store/testing/crashable-sqlite'
import { aControlPlane, storedDefinition } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { aDefinition, aSession } from '@lcm/testkit/test-data-builders'

/*
 * The API on a store that dies at random calls, again and again, while work is saved, found unchanged, resumed, deleted, removed by
 * the retention, and its keys are rotated. Every act is repeated until the API acknowledges it.
 */

const SESSIONS = ['ls-1', 'ls-2']
const WORKS = ['a', 'b', 'c', 'd', 'e', 'f']
const ACTS = 16
/** A start of the API takes fewer calls, so that every act ends some time. */
const CALLS_BETWEEN_CRASHES_MAX = 150
const TRIES_MAX = 60
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The default settings. */
const KEPT = 3
const RETENTION_MS = 30 * DAY_MS
/** Longer than the API waits for the process that began a request. */
const RETRY_MS = 31_000

/** Fills more than one chunk of a blob, compressed or not. */
const filler = Buffer.from(seededRandom(1).bytes(900_000)).toString('base64')
const workOf = (session: string, name: string): string =>
  `lab:\n  title: ${session} ${name}\n${name === 'f' ? `  notes: ${filler}\n` : ''}`
const PACKED = new Map(
  SESSIONS.flatMap(session => WORKS.map(name => workOf(session, name))).map(text => [
    text,
    gzipSync(text, { level: 1 }).toString('base64'),
  ]),
)
const SENT = new Map(SESSIONS.map(session => [session, new Set(WORKS.map(name => workOf(session, name)))]))

type Plane = ReturnType<typeof aControlPlane>
type Random = ReturnType<typeof seededRandom>

/** The answers that clients have. */
interface Ledger {
  /** The work of each acknowledged save. */
  readonly saved: Map<string, { readonly save: Save; readonly work: string }>
  readonly deleted: Set<string>
  /** The saves that open sessions were booked from. */
  readonly resumed: Set<string>
  readonly endedAt: Map<string, number>
}

type Act = (plane: Plane) => Promise<void>

/** One run; resolves with the number of crashes. Rejects when work was lost, or when half of it can be read. */
export async function saveCrashRun(seed: number): Promise<number> {
  const random = seededRandom(seed)
  const api = await crashingApi(random)
  const ledger: Ledger = { saved: new Map(), deleted: new Set(), resumed: new Set(), endedAt: new Map() }
  for (let n = 0; n < ACTS; n += 1) {
    await api.untilDone(actOf(random, n, ledger))
    await checkSaves(api.reader(), ledger)
  }
  await checkRest(api.reader(), ledger)
  return api.crashes()
}

/** The API on a store that dies again and again. Its memory is the database and the file of the keys. */
async function crashingApi(random: Random) {
  const database = openSqliteFile(':memory:')
  const secretKeys = storedKeys([random.bytes(32)])
  const clock = manualClock()
  const start = (store: Store): Plane => {
    const drawn = seededRandom(random.int(2 ** 30))
    return { ...aControlPlane({ store, clock, secretKeys, randomBytes: size => drawn.bytes(size) }), clock }
  }
  await prepare(start(sqliteStore(database)))
  let crashes = 0

  /** A process that dies at a call of the store. */
  function mortal() {
    const { db, arm, calls } = crashableSqlite(database)
    const plane = start(sqliteStore(db))
    const dies = 1 + random.int(CALLS_BETWEEN_CRASHES_MAX)
    arm(dies, random.int(2) === 0 ? 'before' : 'after')
    return { plane, isDead: () => calls() >= dies }
  }

  let process = mortal()
  return {
    crashes: () => crashes,
    /** Another process on the same database, which doesn't die. */
    reader: () => start(sqliteStore(database)),
    async untilDone(act: Act): Promise<void> {
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        try {
          await act(process.plane)
          if (!process.isDead()) return
        } catch (error) {
          if (!process.isDead()) throw error
        }
        crashes += 1
        if (database.isTransaction) database.exec('ROLLBACK')
        process = mortal()
        await clock.advance(RETRY_MS)
      }
      throw new Error('an act never ends')
    },
  }
}

async function prepare(plane: Plane): Promise<void> {
  await plane.registerTerm('lablet-controller', 1)
  const definition = aDefinition()
  await plane.put('definitions', storedDefinition(definition))
  const start = toInstant(plane.clock.now())
  const timeslot = { start, end: toInstant(plane.clock.now() + 365 * DAY_MS) }
  const { id, name, definition_version: version } = definition
  for (const session of SESSIONS) {
    const booked = { id: session, owner: 'admin', timeslot, definition: { id, name, version } }
    await plane.put('sessions', aSession({ ...booked, status: 'RUNNING', entered_status_at: start }))
  }
}

/** The answer of the API. A process that dies answers with a status of 500 and more. */
async function ask(
  plane: Plane,
  method: string,
  path: string,
  more: { json?: unknown; headers?: Record<string, string> } = {},
) {
  const answer = await plane.send(method, path, more)
  if (answer.status >= 500) throw new Error(`${method} ${path}: ${answer.body}`)
  return answer
}

const asController = { authorization: 'Bearer lablet-controller', 'lcm-epoch': '1' }

function actOf(random: Random, n: number, ledger: Ledger): Act {
  const session = SESSIONS[random.int(SESSIONS.length)] ?? ''
  const name = WORKS[random.int(WORKS.length)] ?? ''
  const known = [...ledger.saved.keys()].filter(id => !ledger.deleted.has(id))
  const save = known[random.int(Math.max(1, known.length))] ?? ''
  const kind = random.int(20)
  if (kind < 10) return plane => store(plane, ledger, { session, work: workOf(session, name), cause: 'interval' })
  if (kind < 12) return plane => resume(plane, ledger, { save, key: `resume-${n}` })
  if (kind < 13) return plane => remove(plane, ledger, save)
  if (kind < 15) return rotate
  if (kind < 16) return plane => end(plane, ledger, { session, work: workOf(session, name) })
  if (kind < 17) return plane => housekeeping(plane, 10 * DAY_MS)
  return plane => housekeeping(plane, 10 * MINUTE_MS)
}

interface Attempt {
  readonly session: string
  readonly work: string
  readonly cause: Save['cause']
}

async function store(plane: Plane, ledger: Ledger, { session, work, cause }: Attempt): Promise<void> {
  const json = { cause, began_at: toInstant(plane.clock.now()), topology: PACKED.get(work), nodes: [] }
  const answer = await ask(plane, 'POST', `lablet-sessions/${session}/saves`, { headers: asController, json })
  // Refused, or not found: the record of the session goes before its final save.
  if (answer.status !== 200 && ledger.endedAt.has(session)) return
  assert(answer.status === 200, `a save was refused: ${answer.body}`)
  ledger.saved.set(answer.json.id, { save: answer.json, work })
}

async function end(plane: Plane, ledger: Ledger, attempt: Omit<Attempt, 'cause'>): Promise<void> {
  const path = `lablet-sessions/${attempt.session}`
  const decision = { action: 'write', because: textReason('the session ends') }
  for (const status of ['STOPPING', 'STOPPED', 'ARCHIVED']) {
    if (ledger.endedAt.has(attempt.session)) return
    const { json: session } = await ask(plane, 'GET', path)
    if (session.status === 'ARCHIVED') ledger.endedAt.set(attempt.session, toMs(session.entered_status_at))
    if (status === 'STOPPING') await store(plane, ledger, { ...attempt, cause: 'end' })
    const headers = { ...asController, 'if-match': `"${session.version}"` }
    // After a crash some of these moves were made already.
    await ask(plane, 'PATCH', `${path}/status`, { headers, json: { changes: { status }, decision } })
  }
  return end(plane, ledger, attempt)
}

async function resume(plane: Plane, ledger: Ledger, { save, key }: { save: string; key: string }): Promise<void> {
  const headers = { 'idempotency-key': key }
  const { status } = await ask(plane, 'POST', 'lablet-sessions', {
    headers,
    json: { resume_save: save, duration_minutes: 30 },
  })
  if (status === 201) ledger.resumed.add(save)
}

async function remove(plane: Plane, ledger: Ledger, save: string): Promise<void> {
  const { status } = await ask(plane, 'DELETE', `saves/${save}`)
  // Not found after a crash: the removal was done before.
  if (status === 204 || status === 404) ledger.deleted.add(save)
}

async function rotate(plane: Plane): Promise<void> {
  for (;;) if ((await ask(plane, 'POST', 'secret-key/rotate')).json.done) return
}

/** One round of all background services, some time later. */
async function housekeeping(plane: Plane, laterMs: number): Promise<void> {
  await plane.clock.advance(laterMs)
  const stop = new AbortController()
  const running = Promise.all(plane.services.map(service => service.run(stop.signal)))
  await plane.clock.advance(0)
  stop.abort()
  await plane.clock.advance(0)
  await running
}

async function checkSaves(reader: Plane, ledger: Ledger): Promise<void> {
  const listed: readonly Save[] = (await ask(reader, 'GET', 'saves?limit=1000')).json.items
  for (const { id, session_id } of listed) {
    const { status, json } = await ask(reader, 'GET', `saves/${id}/topology`)
    const work = ledger.saved.get(id)?.work
    const isWhole =
      status === 200 && (work === undefined ? SENT.get(session_id)?.has(json.topology) : work === json.topology)
    assert(isWhole, `${id} can't be read as it was written: ${status}`)
    assert(!ledger.deleted.has(id), `${id} is back after its removal`)
  }
  const here = new Set(listed.map(({ id }) => id))
  for (const id of ledger.resumed) assert(here.has(id), `${id} is gone, and a session needs it`)
  for (const session of SESSIONS) {
    const due = dueOf(session, listed, { ledger, nowMs: reader.clock.now() })
    for (const id of due) assert(here.has(id), `${id} of ${session} was lost`)
  }
  // The others were removed in time, and no later removal makes them due again.
  for (const id of ledger.saved.keys()) if (!here.has(id)) ledger.saved.delete(id)
}

/** The acknowledged saves that must still be there, computed without the code of the retention. */
function dueOf(
  session: string,
  listed: readonly Save[],
  { ledger, nowMs }: { ledger: Ledger; nowMs: number },
): readonly string[] {
  const endedAt = ledger.endedAt.get(session)
  if (endedAt !== undefined && nowMs >= endedAt + RETENTION_MS) return []
  const acknowledged = [...ledger.saved.values()].map(({ save }) => save)
  const all = new Map([...acknowledged, ...listed].map(save => [save.id, save]))
  return [...all.values()]
    .filter(({ id, session_id }) => session_id === session && !ledger.deleted.has(id))
    .toSorted((a, b) => b.number - a.number)
    .slice(0, endedAt === undefined ? KEPT : 1)
    .map(({ id }) => id)
}

/** After a day without crashes nothing is left over, and every key was rotated. */
async function checkRest(reader: Plane, ledger: Ledger): Promise<void> {
  await housekeeping(reader, DAY_MS)
  await housekeeping(reader, 2 * MINUTE_MS)
  await rotate(reader)
  await checkSaves(reader, ledger)
  const saves = await reader.all('saves')
  const blobs = await reader.store.blobs.ids({ limit: 10_000 })
  assert(JSON.stringify(blobs) === JSON.stringify(saves.map(({ id }) => id)), 'content without a save is left')
  assert(new Set(saves.map(({ sealed_key }) => keyIdIn(sealed_key))).size <= 1, 'a save is sealed with an older key')
}
