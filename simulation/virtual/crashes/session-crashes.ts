import { type Learners, learnersOf, SETTLED_MS } from '../people/learner-requests.ts'
import { type ManualChanges, manualChangesOf } from '../people/manual-changes.ts'
import { type Operator, operatorOf } from '../people/operator-requests.ts'
import { MINUTE_MS } from '../world/durations.ts'
import { SESSION_SERVICES, type SessionService } from '../world/session-controller-processes.ts'
import { openWorld, type World, type WorldOptions } from '../world/world.ts'
import { type CrashPoint, RESTARTED_AFTER_MS } from './worker-crash-run.ts'

interface PathContext {
  readonly world: World
  readonly operator: Operator
  readonly manual: ManualChanges
  readonly learner: Learners
}

/** A sequence of bookings, with checks at its end. */
export interface SessionPath {
  readonly name: string
  /** Maximum number of machines that ever existed. */
  readonly machines: number
  /** Maximum number of labs ever imported: one for each session and worker. */
  readonly labs: number
  readonly options?: WorldOptions
  /** Takes a second or more to run. */
  readonly isLong?: true
  walk(context: PathContext): Promise<void>
}

const SHORT = { duration_minutes: 6 }

export const SESSION_PATHS: readonly SessionPath[] = [
  {
    name: 'book, run, end',
    machines: 1,
    labs: 1,
    async walk({ operator, learner }) {
      await operator.createAndRun('metal-1')
      const { id } = await learner.book('two', SHORT)
      await learner.until(id, 'ARCHIVED')
    },
  },
  {
    name: 'cancel while starting and while running',
    machines: 1,
    labs: 2,
    async walk({ world, operator, learner }) {
      await operator.createAndRun('metal-1')
      const first = await learner.book('two')
      await world.untilTrue('a lab', () => world.sessions.existingLabs().length === 1)
      await learner.cancel(first.id)
      await learner.until(first.id, 'TERMINATED')
      const second = await learner.book('one')
      await learner.until(second.id, 'RUNNING')
      await learner.cancel(second.id)
      await learner.until(second.id, 'TERMINATED')
    },
  },
  {
    name: 'more sessions than fit',
    machines: 3,
    labs: 3,
    isLong: true,
    async walk({ operator, learner }) {
      await operator.createAndRun('metal-1')
      const booked = [
        await learner.book('four', { duration_minutes: 30 }),
        await learner.book('four', { duration_minutes: 30 }),
        await learner.book('four', { duration_minutes: 30 }),
      ]
      for (const { id } of booked) await learner.until(id, 'ARCHIVED', 90 * MINUTE_MS)
    },
  },
  {
    name: 'a worker is lost',
    machines: 2,
    labs: 3,
    isLong: true,
    async walk({ operator, manual, learner, world }) {
      await operator.set({ schedule_ahead_minutes: 35 })
      const { id: worker } = await operator.createAndRun('metal-1')
      const { id } = await learner.book('two', { duration_minutes: 60 })
      await learner.until(id, 'RUNNING')
      const start = new Date(world.time.clock.now() + 14 * MINUTE_MS).toISOString()
      const later = await learner.book('two', { start, duration_minutes: 5 })
      await learner.until(later.id, 'SCHEDULED')
      manual.terminate(await manual.machineOf(worker))
      await learner.until(id, 'ARCHIVED', 90 * MINUTE_MS)
      await learner.until(later.id, 'ARCHIVED', 90 * MINUTE_MS)
    },
  },
  {
    name: 'move by hand',
    machines: 2,
    labs: 2,
    async walk({ world, operator, learner }) {
      await operator.createAndRun('metal-1')
      await operator.createAndRun('metal-2')
      const { id } = await learner.book('two', { duration_minutes: 12 })
      await learner.until(id, 'RUNNING')
      await world.client.call('moveSession', { params: { id }, body: {} })
      await learner.until(id, 'RUNNING')
      await learner.until(id, 'ARCHIVED')
    },
  },
]

const OPTIONS = { speed: 20 }

/** The port calls of both controllers without a crash. */
export async function undisturbedSessions(
  path: SessionPath,
  seed: number,
): Promise<Readonly<Record<SessionService, readonly string[]>>> {
  const world = await openWorld(seed, { ...OPTIONS, ...path.options })
  for (const service of SESSION_SERVICES) world.sessions.start(service, `${service}-1`)
  await finish(path, world)
  const { calls } = world.sessions
  return {
    'resource-scheduler': calls['resource-scheduler'].names,
    'lablet-controller': calls['lablet-controller'].names,
  }
}

/** Runs the path with a session controller that dies at the crash point. Rejects unless the outcome is the same. */
export async function crashSessions(
  path: SessionPath,
  seed: number,
  point: CrashPoint & { readonly service: SessionService },
): Promise<void> {
  const { service, call, when, successor } = point
  const world = await openWorld(seed, { ...OPTIONS, ...path.options })
  for (const each of SESSION_SERVICES) if (each !== service) world.sessions.start(each, `${each}-1`)
  const victim = world.sessions.start(service, `${service}-1`)
  const startNext = () => world.sessions.start(service, `${service}-2`)
  if (successor === 'standby') startNext()
  const calls = world.sessions.calls[service]
  calls.crashAt(call, when, () => {
    victim.kill()
    if (successor === 'restart') world.time.clock.after(RESTARTED_AFTER_MS, startNext)
  })
  try {
    await finish(path, world)
  } catch (cause) {
    throw new Error(`${path.name}, ${service} killed ${when} call ${call} (${calls.names[call]}), ${successor}`, {
      cause,
    })
  }
}

async function finish(path: SessionPath, world: World): Promise<void> {
  world.startWorkerController('one')
  const learner = learnersOf(world)
  await learner.define()
  await path.walk({ world, operator: operatorOf(world), manual: manualChangesOf(world), learner })
  await world.runFor(SETTLED_MS)
  const { machines } = world.invariants
  const labs = [...machines].reduce((sum, id) => sum + (world.cloud.cml.contextOf(id)?.server.labs_made ?? 0), 0)
  const wrong = [
    ...world.sessions.leftovers(),
    ...(machines.size > path.machines ? [`${machines.size} machines existed; expected at most ${path.machines}`] : []),
    ...(labs > path.labs ? [`${labs} labs existed; expected at most ${path.labs}`] : []),
  ]
  if (wrong.length > 0) throw new Error([...wrong, ...world.time.recentTrace().slice(-30)].join('\n'))
  await world.close()
}
