import { systemClock } from '@lcm/runtime/clock'
import { CONTROLLERS } from '../clusters/controller-cluster.ts'
import { type EventLog, openEventLog, versionsGoingBack } from '../event-log.ts'
import { staleWritesAccepted, termsOutOfOrder } from '../fencing-checks.ts'
import { classLoad } from '../load/classroom-load.ts'
import { startWriter } from '../load/label-writer.ts'
import { type Learner, LICENSE } from '../load/learner.ts'
import { untilReady, versionsNow } from '../rolling-restart.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import { judgeSettledState } from './judge-settled-state.ts'
import { orphanedMachines, watchMachines } from './machine-watch.ts'
import { type ReservationWatch, watchReservations } from './reservation-watch.ts'

/** One fault. It has ended when `inject` resolves; misbehavior of the system rejects it. */
export interface FaultStep {
  readonly what: string
  inject(setup: ChaosCluster): Promise<void>
}

export interface Fault {
  readonly name: string
  /** Sentence for the report. */
  readonly description: string
  readonly steps: readonly FaultStep[]
  /** Whether recovery is measured from the start of a step instead of its end. */
  readonly isOverAtOnce?: boolean
}

export interface FaultVerdict {
  readonly name: string
  readonly description: string
  readonly steps: number
  readonly sessions: number
  readonly writes: number
  /** Time to recover, by step. */
  readonly backAfterMs: readonly number[]
  /** Violations, by kind. */
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
  readonly print: (line: string) => void
}

/** Injects each step after the recovery from the previous one, while sessions come and go, and judges the result. */
export async function faultUnderLoad(setup: ChaosCluster, fault: Fault, load: Load): Promise<FaultVerdict> {
  const { client, cluster } = setup
  const { name, description, steps, isOverAtOnce = false } = fault
  const before = counted(setup)
  const atFirst = new Map(await versionsNow(client))
  const listener = await openEventLog([setup.api.client])
  const writer = startWriter(client, load.learner.workerId)
  const watch = watchMachines(cluster)
  const books = watchReservations(client)
  const day = classLoad(client, load.learner)
  const half = Math.ceil(steps.length / 2)
  const spare = await cordonedWorker(setup, name)
  const backAfterMs: number[] = []
  const misbehavior: string[] = []
  for (const [step, { what, inject }] of steps.entries()) {
    if (step === half) {
      await day.allRun()
      await client.call('terminateWorker', { params: { id: spare }, body: {} })
    }
    const share = Math.ceil((load.sessions * ((step % half) + 1)) / half)
    if (step < half) day.bookUpTo(share)
    else day.cancelUpTo(share)
    const beganAt = systemClock.monotonic()
    await inject(setup).catch((error: Error) => misbehavior.push(`${what}: ${error.message}`))
    const since = isOverAtOnce ? beganAt : systemClock.monotonic()
    await untilWell(setup).catch((error: Error) => misbehavior.push(`${what}: ${error.message}`))
    const ms = systemClock.monotonic() - since
    backAfterMs.push(ms)
    load.print(`${name}, ${step + 1} of ${steps.length}: ${what}; recovered after ${Math.round(ms)} ms`)
  }
  day.cancelUpTo(load.sessions)
  await day.over()
  const writesLost = await writer.stop()
  const missed = await missedBy(listener, setup, atFirst)
  const { lost, labsAstray } = day.verdict()
  return {
    ...{ name, description, steps: steps.length, sessions: load.sessions, writes: writer.acknowledged, backAfterMs },
    wrong: {
      'write lost': writesLost,
      'session lost': lost,
      'lab astray': labsAstray,
      'machine astray': await orphanedMachines(cluster, client),
      'machine twice': await watch.stop(),
      ...(await judged(setup, books)),
      'change missed': missed,
      ...withoutKnown(counted(setup), before, misbehavior),
    },
  }
}

/** Violations during the fault and after it. */
async function judged({ cluster, client }: ChaosCluster, watch: ReservationWatch) {
  const [rest, ever] = [await judgeSettledState(cluster, client), await watch.stop()]
  const unseen = ever.observations > 0 ? [] : ['no worker with reservations was observed']
  return {
    'license astray': rest.licenses,
    'book wrong': [...unseen, ...ever.books, ...rest.books],
    'illegal move': [...new Set([...ever.moves, ...rest.moves])],
    'undecided move': rest.undecided,
  }
}

/** A worker to be launched, licensed and terminated during the fault. It is cordoned, so it gets no session. */
async function cordonedWorker({ client }: ChaosCluster, name: string): Promise<string> {
  const { id } = await client.call('createWorker', {
    body: { template_name: 'metal', name: `spare-${name}`, license: LICENSE },
  })
  await client.call('patchWorker', { params: { id }, body: { cordoned: true } })
  return id
}

/** Waits until each controller has a leader, all processes are ready, and a write is acknowledged. */
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

/** Resources that have not changed since `atFirst` have no events for a later listener. */
async function missedBy(
  listener: EventLog,
  { client }: ChaosCluster,
  atFirst: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const changed = (await versionsNow(client)).filter(([id, version]) => atFirst.get(id) !== version)
  const missed = await listener.untilReceived(changed).then(
    () => [],
    (error: Error) => [error.message],
  )
  await listener.stop()
  return [
    ...missed,
    ...versionsGoingBack(listener.received).map(({ id, version }) => `${id} went back to ${version}`),
    ...Array.from({ length: listener.resets }, () => 'the listener got a reset'),
  ]
}

/** Counters that grow from fault to fault. */
function counted(setup: ChaosCluster) {
  const histories = [...setup.histories]
  const stale = histories.flatMap(([service, history]) =>
    [...staleWritesAccepted(history), ...termsOutOfOrder(history)].map(
      ({ instance, method, path, epoch }) => `${instance} of ${service}: ${method} ${path} by epoch ${epoch}`,
    ),
  )
  return { stale, defects: setup.defects() }
}

const withoutKnown = (
  now: ReturnType<typeof counted>,
  before: ReturnType<typeof counted>,
  misbehavior: readonly string[],
) => ({
  'stale write': now.stale.slice(before.stale.length),
  misbehavior: [...misbehavior, ...now.defects.slice(before.defects.length)],
})
