import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS } from '../clusters/session-cluster.ts'
import { classLoad } from '../load/class-load.ts'
import { type EventLog, openEventLog, versionsGoingBack } from '../load/event-log.ts'
import { type Learner, LICENSE } from '../load/learner.ts'
import { startWriter } from '../load/writer.ts'
import { untilReady, versionsNow } from '../rolling-restart.ts'
import { staleWritesAccepted, termsOutOfOrder } from '../write-history.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import { orphanedMachines, watchMachines } from './machine-watch.ts'
import { type ReservationWatch, watchReservations } from './reservation-watch.ts'
import { judgeSettledState } from './settled-state.ts'

/** One thing that goes wrong, and is over when it resolves. It throws where something did not behave as it must. */
export interface FaultStep {
  readonly what: string
  strike(place: ChaosCluster): Promise<void>
}

export interface Fault {
  readonly name: string
  /** For the report: what is done. */
  readonly told: string
  readonly strokes: readonly FaultStep[]
  /** Whether the way back begins with the stroke, as it does where nothing is held back on purpose; else with its end. */
  readonly isOverAtOnce?: boolean
}

export interface FaultVerdict {
  readonly name: string
  readonly told: string
  readonly strokes: number
  readonly sessions: number
  readonly writes: number
  /** By stroke: until everything was well again. */
  readonly backAfterMs: readonly number[]
  /** By kind: what must not happen, each in words. */
  readonly wrong: Readonly<Record<Violation, readonly string[]>>
}

export const VIOLATIONS = [
  'write lost',
  'session lost',
  'lab astray',
  'machine twice',
  'machine astray',
  'license astray',
  'book wrong',
  'illegal move',
  'undecided move',
  'change missed',
  'stale write',
  'misbehavior',
] as const
export type Violation = (typeof VIOLATIONS)[number]

export interface Load {
  readonly learner: Learner
  /** Sessions that are booked in the first half of the steps and canceled in the second. */
  readonly sessions: number
  readonly say: (line: string) => void
}

/** Does one stroke after the other, each when all is well again, while a class comes and goes, and judges what is left. */
export async function faultUnderLoad(place: ChaosCluster, trouble: Fault, load: Load): Promise<FaultVerdict> {
  const { client, cluster } = place
  const { name, told, strokes, isOverAtOnce = false } = trouble
  const before = counted(place)
  const atFirst = new Map(await versionsNow(client))
  const listener = await openEventLog([place.api.client])
  const writer = startWriter(client, load.learner.workerId)
  const watch = watchMachines(cluster)
  const books = watchReservations(client)
  const day = classLoad(client, load.learner)
  const half = Math.ceil(strokes.length / 2)
  const spare = await cordonedWorker(place, name)
  const backAfterMs: number[] = []
  const misbehavior: string[] = []
  for (const [step, { what, strike }] of strokes.entries()) {
    if (step === half) {
      await day.allRun()
      await client.call('terminateWorker', { params: { id: spare }, body: {} })
    }
    const share = Math.ceil((load.sessions * ((step % half) + 1)) / half)
    if (step < half) day.bookUpTo(share)
    else day.cancelUpTo(share)
    const beganAt = systemClock.monotonic()
    await strike(place).catch((error: Error) => misbehavior.push(`${what}: ${error.message}`))
    const since = isOverAtOnce ? beganAt : systemClock.monotonic()
    await untilWell(place).catch((error: Error) => misbehavior.push(`${what}: ${error.message}`))
    const ms = systemClock.monotonic() - since
    backAfterMs.push(ms)
    load.say(`${name}, ${step + 1} of ${strokes.length}: ${what}; well again after ${Math.round(ms)} ms`)
  }
  day.cancelUpTo(load.sessions)
  await day.over()
  const writesLost = await writer.stop()
  const missed = await missedBy(listener, place, atFirst)
  const { lost, labsAstray } = day.verdict()
  return {
    ...{ name, told, strokes: strokes.length, sessions: load.sessions, writes: writer.acknowledged, backAfterMs },
    wrong: {
      'write lost': writesLost,
      'session lost': lost,
      'lab astray': labsAstray,
      'machine astray': await orphanedMachines(cluster, client),
      'machine twice': await watch.stop(),
      ...(await judged(place, books)),
      'change missed': missed,
      ...withoutKnown(counted(place), before, misbehavior),
    },
  }
}

/** While it was given away, and now that all is at rest. */
async function judged({ cluster, client }: ChaosCluster, watch: ReservationWatch) {
  const [rest, ever] = [await judgeSettledState(cluster, client), await watch.stop()]
  const unseen = ever.looks > 0 ? [] : ['nobody saw a book with anything in it']
  return {
    'license astray': rest.licenses,
    'book wrong': [...unseen, ...ever.books, ...rest.books],
    'illegal move': [...new Set([...ever.moves, ...rest.moves])],
    'undecided move': rest.undecided,
  }
}

/** A worker to be launched, licensed and ended in the middle of it all. No session goes there. */
async function cordonedWorker({ client }: ChaosCluster, name: string): Promise<string> {
  const { id } = await client.call('createWorker', {
    body: { template_name: 'metal', name: `spare-${name}`, license: LICENSE },
  })
  await client.call('patchWorker', { params: { id }, body: { cordoned: true } })
  return id
}

/** Until one of each controller leads, all are ready, and a write is acknowledged. */
async function untilWell({ cluster, api, client }: ChaosCluster): Promise<void> {
  await untilReady(api.url)
  await Promise.all(
    CONTROLLERS.map(async service => {
      await cluster.leaderOf(service)
      await Promise.all(cluster.replicasOf(service).map(({ url }) => untilReady(url)))
    }),
  )
  await client.call('createLoginLink', {})
}

/** What has not changed since `atFirst`, as sessions of an earlier class, is told to nobody who came later. */
async function missedBy(
  listener: EventLog,
  { client }: ChaosCluster,
  atFirst: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const changed = (await versionsNow(client)).filter(([id, version]) => atFirst.get(id) !== version)
  const missed = await listener.untilHeard(changed).then(
    () => [],
    (error: Error) => [error.message],
  )
  await listener.stop()
  return [
    ...missed,
    ...versionsGoingBack(listener.heard).map(({ id, version }) => `${id} went back to ${version}`),
    ...Array.from({ length: listener.resets }, () => 'the listener had to read everything anew'),
  ]
}

/** What only grows, from trouble to trouble. */
function counted(place: ChaosCluster) {
  const histories = [...place.histories]
  const stale = histories.flatMap(([service, history]) =>
    [...staleWritesAccepted(history), ...termsOutOfOrder(history)].map(
      ({ instance, method, path, epoch }) => `${instance} of ${service}: ${method} ${path} by epoch ${epoch}`,
    ),
  )
  return { stale, defects: place.defects() }
}

const withoutKnown = (
  now: ReturnType<typeof counted>,
  before: ReturnType<typeof counted>,
  misbehavior: readonly string[],
) => ({
  'stale write': now.stale.slice(before.stale.length),
  misbehavior: [...misbehavior, ...now.defects.slice(before.defects.length)],
})
