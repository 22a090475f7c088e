import { ApiError, UnreachableError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { create, label, type Replica, type Replicas } from './clusters/api-replicas.ts'
import { type EventLog, openEventLog, versionsGoingBack } from './event-log.ts'

/** Responses for one worker that has a single writer. */
interface Diary {
  readonly id: string
  /** Time of the create request. */
  readonly askedAt: number
  /** Acknowledged labels by version. */
  readonly acknowledged: Map<number, number>
  /** No answer: the request may or may not have taken effect. */
  readonly uncertain: Set<number>
}

export interface StormVerdict {
  readonly kills: number
  readonly acknowledged: number
  readonly uncertain: number
  /** Acknowledged writes that a read at either replica does not show, or that a later write undid. */
  readonly writesLost: readonly string[]
  /** Acknowledged writes without an audit entry, and entries that are there more than once. */
  readonly auditLost: readonly string[]
  readonly auditTwice: readonly string[]
  /** Events whose version did not grow, and reset events. */
  readonly eventsGoneBack: number
  readonly resets: number
  /** Time from each kill until the survivor has delivered all changes that were acknowledged before. */
  readonly deliveredAfterMs: readonly number[]
}

const WRITERS = 4
/** After so many writes a worker gets no more writes, so that a later event cannot hide a missing one. */
const CHANGES_PER_WORKER = 4
/** Pause after a replica did not respond. */
const PAUSE_MS = 20
/** Between a restart and the next kill. */
const CALM_MS = 300

/**
 * Writers change their own workers through both replicas without a pause, while one replica after the other is killed and
 * started again. Every acknowledged write must be readable, delivered and audited.
 */
export async function killStorm(replicas: Replicas, kills: number): Promise<StormVerdict> {
  const diaries = await Promise.all(Array.from({ length: WRITERS }, () => newDiary(replicas.a)))
  const storm: Storm = { isOver: false, replicas: replicas.both, diaries }
  const wanderer = await openEventLog(replicas.both.map(({ client }) => client))
  const writing = diaries.map((diary, index) => write(storm, diary, index))
  const deliveredAfterMs: number[] = []
  const survivors: EventLog[] = []
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const [victim, survivor] = kill % 2 === 0 ? [replicas.a, replicas.b] : [replicas.b, replicas.a]
      const log = await openEventLog([survivor.client])
      const openedAt = systemClock.monotonic()
      survivors.push(log)
      await systemClock.sleep(CALM_MS)
      const isNews = ({ askedAt }: Diary, index: number) => index < WRITERS || askedAt > openedAt
      deliveredAfterMs.push(await killOne(victim, () => diaries.filter(isNews), log))
      await log.stop()
      await victim.restart()
    }
  } finally {
    storm.isOver = true
  }
  await Promise.all(writing)
  await wanderer.untilReceived(await finalVersions(replicas.a, diaries))
  await wanderer.stop()
  return {
    kills,
    acknowledged: sum(diaries, ({ acknowledged }) => acknowledged.size),
    uncertain: sum(diaries, ({ uncertain }) => uncertain.size),
    writesLost: (await Promise.all(replicas.both.map(replica => lostAt(replica, diaries)))).flat(),
    ...(await auditVerdict(replicas.b, diaries)),
    eventsGoneBack: sum([...survivors, wanderer], ({ received }) => versionsGoingBack(received).length),
    resets: sum([...survivors, wanderer], log => log.resets),
    deliveredAfterMs,
  }
}

const sum = <T>(all: readonly T[], count: (one: T) => number): number =>
  all.reduce((total, one) => total + count(one), 0)

interface Storm {
  isOver: boolean
  readonly replicas: readonly Replica[]
  readonly diaries: Diary[]
}

async function newDiary(replica: Replica): Promise<Diary> {
  const askedAt = systemClock.monotonic()
  const { id, version } = await create(replica, 'storm')
  return { id, askedAt, acknowledged: new Map([[version, 0]]), uncertain: new Set() }
}

/** Uses the other replica when one does not respond, like a load balancer. */
async function write(storm: Storm, own: Diary, offset: number): Promise<void> {
  for (let n = 1; !storm.isOver; n += 1) {
    const replica = storm.replicas[(offset + n) % storm.replicas.length]
    if (replica === undefined) return
    const isAnswered = await change(replica, own, n)
    if (!isAnswered) await systemClock.sleep(PAUSE_MS)
    else if (n % CHANGES_PER_WORKER === 0) await leaveBehind(storm, replica)
  }
}

/** Returns whether it was acknowledged. */
async function change(replica: Replica, { id, acknowledged, uncertain }: Diary, n: number): Promise<boolean> {
  return answered(
    async () => void acknowledged.set((await label(replica, id, n)).version, n),
    () => uncertain.add(n),
  )
}

/** Creates a worker, changes it once, and then leaves it unchanged. */
async function leaveBehind({ diaries }: Storm, replica: Replica): Promise<void> {
  await answered(async () => {
    const diary = await newDiary(replica)
    diaries.push(diary)
    await change(replica, diary, 1)
  })
}

async function answered(work: () => Promise<void>, otherwise: () => unknown = () => undefined): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof UnreachableError) && !isBusy(error)) throw error
    otherwise()
    return false
  }
}

const isBusy = (error: unknown): boolean => error instanceof ApiError && error.problem.status === 503

/** Returns the time until the survivor has delivered all changes that either replica acknowledged before the kill. */
async function killOne(victim: Replica, diaries: () => readonly Diary[], survivor: EventLog): Promise<number> {
  const dead = victim.kill()
  const newest = diaries().map(({ id, acknowledged }) => [id, Math.max(...acknowledged.keys())] as const)
  const since = systemClock.monotonic()
  await dead
  await survivor.untilReceived(newest)
  return systemClock.monotonic() - since
}

const finalVersions = (replica: Replica, diaries: readonly Diary[]) =>
  Promise.all(
    diaries.map(async ({ id }) => [id, (await replica.client.call('getWorker', { params: { id } })).version] as const),
  )

async function lostAt({ client, name }: Replica, diaries: readonly Diary[]): Promise<string[]> {
  const lost: string[] = []
  for (const { id, acknowledged, uncertain } of diaries) {
    const { version, labels } = await client.call('getWorker', { params: { id } })
    const newest = Math.max(...acknowledged.keys())
    const n = Number(labels.n ?? 0)
    const wasLast = acknowledged.get(version) === n || (uncertain.has(n) && n > (acknowledged.get(newest) ?? 0))
    if (version < newest || !wasLast) lost.push(`${id} at ${name}: version ${version} of ${newest}, label ${n}`)
  }
  return lost
}

async function auditVerdict({ client }: Pick<Replica, 'client'>, diaries: readonly Diary[]) {
  const found: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: { limit: number; cursor?: string } = { limit: 1000, ...(cursor === '' ? {} : { cursor }) }
    const page: { items: { id: string }[]; next_cursor: string | null } = await client.call('listAudit', { query })
    found.push(...page.items.map(({ id }) => id))
    cursor = page.next_cursor
  }
  const known = new Set<string>()
  const auditTwice = found.filter(id => known.has(id) || !known.add(id))
  const wanted = diaries.flatMap(({ id, acknowledged }) =>
    [...acknowledged.keys()].map(version => `worker:${id}:${version}:0`),
  )
  return { auditLost: wanted.filter(id => !known.has(id)), auditTwice }
}
