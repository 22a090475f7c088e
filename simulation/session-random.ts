import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { type SeededRandom, seededRandom } from '@lcm/testkit/seeded-random'
import type { ControllerProcess } from './controller-process.ts'
import { hands } from './hands.ts'
import { type LabName, learners, SETTLED_MS } from './learners.ts'
import { people } from './people.ts'
import { HOUR_MS, MINUTE_MS, openWorld, type World, type WorldOptions } from './world.ts'

export interface SessionRun {
  readonly sessions: number
  /** That are there when the first booking comes; more are bought where they do not do. */
  readonly workers: number
  readonly workersMax: number
  /** In which the bookings arrive. */
  readonly hours: number
  readonly options?: WorldOptions
}

export const SHORT_SESSION_RUN: SessionRun = { sessions: 40, workers: 4, workersMax: 8, hours: 1.5 }
export const LARGE_SESSION_RUN: SessionRun = {
  sessions: 1_000,
  workers: 200,
  workersMax: 220,
  hours: 2,
  options: { labsCountedMs: 30_000 },
}

export interface SessionOutcome {
  /** The run's identity. */
  readonly hash: string
  /** How many sessions ended how: by status, and by the first word of what went wrong. */
  readonly ends: Readonly<Record<string, number>>
  readonly machines: number
  readonly virtualMs: number
}

const SERVICES = ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const
type Service = (typeof SERVICES)[number]

/** Of a hundred bookings, so many are followed by this. */
const MISCHIEF = { cancel: 15, 'kill a machine': 4, 'remove labs': 3, 'kill a leader': 12, 'lose a lease': 6 } as const
const MISCHIEF_RARE = {
  'freeze a leader': 4,
  'break the streams': 4,
  'cut CML': 3,
  'drop and double events': 3,
} as const
const CUT_MS_MAX = 4 * MINUTE_MS
const CONVERGED_MS_MAX = 8 * HOUR_MS

/**
 * Learners who book and cancel at random, machines that die and leaders that change; then all of it stops. Rejects when
 * something that must hold did not, when a session does not end, or when anything of one is left.
 */
export async function sessionRun(seed: number, run: SessionRun = SHORT_SESSION_RUN): Promise<SessionOutcome> {
  const world = await openWorld(seed, { speed: 10, ...run.options })
  // A stream of its own: what learners do must not depend on how many ids the API has drawn.
  const random = seededRandom(seed + 0.125 * 2 ** 52)
  const learner = learners(world)
  await learner.define()
  const ask = people(world)
  await ask.set({ max_workers_per_region: run.workersMax })
  const controllers = crew(world, random)
  for (let n = 0; n < run.workers; n += 1) await ask.create(`metal-${n}`)
  await world.untilTrue('a fleet', () => world.workers().every(({ status }) => status === 'RUNNING'))
  const happen = mischief(world, random, controllers)
  for (let n = 0; n < run.sessions; n += 1) {
    await attempt(world, () => learner.book(pick(random, LAB_NAMES), slot(world, random)))
    for (const act of drawn(random)) await attempt(world, () => happen[act]())
    await world.runFor(random.int((2 * run.hours * HOUR_MS) / run.sessions))
  }
  world.coordination.faults.setDelivery(undefined)
  world.ways.isCmlCut = false
  await learner.untilAllOver(CONVERGED_MS_MAX)
  await world.runFor(SETTLED_MS)
  await world.untilTrue('an end without leftovers', () => world.sessions.leftovers().length === 0, HOUR_MS)
  const ends = tally([...world.sessions.sessions.values()])
  await world.close()
  const virtualMs = Math.round(world.time.clock.monotonic())
  return { hash: world.time.traceHash(), ends, machines: world.invariants.machines.size, virtualMs }
}

const LAB_NAMES: readonly LabName[] = ['one', 'one', 'two', 'two', 'four']

/** Most want it now, others later today. */
function slot(world: World, random: SeededRandom): { start?: string; duration_minutes: number } {
  const duration_minutes = 5 + random.int(50)
  if (random.int(2) === 0) return { duration_minutes }
  const startMs = world.time.clock.now() + random.int(100) * MINUTE_MS
  return { start: new Date(startMs).toISOString(), duration_minutes }
}

type Act = keyof typeof MISCHIEF | keyof typeof MISCHIEF_RARE

const drawn = (random: SeededRandom): Act[] =>
  (Object.entries({ ...MISCHIEF, ...MISCHIEF_RARE }) as [Act, number][])
    .filter(([, percent]) => random.int(100) < percent)
    .map(([act]) => act)

function pick<T>(random: SeededRandom, items: readonly T[]): T {
  const item = items[random.int(items.length)]
  if (item === undefined) throw new Error('there is nothing to pick from')
  return item
}

/** Whoever is told no has been answered. */
async function attempt(world: World, act: () => unknown): Promise<void> {
  try {
    await act()
  } catch (error) {
    world.time.trace(`refused: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
  }
}

interface Crew {
  of(service: Service): readonly ControllerProcess[]
  replace(service: Service, victim: ControllerProcess): void
}

/** Two processes of every service, and whoever dies is replaced. */
function crew(world: World, random: SeededRandom): Crew {
  let started = 0
  const start = (service: Service): ControllerProcess => {
    started += 1
    const id = `${service}-${started}`
    return service === 'worker-controller' ? world.startController(id) : world.sessions.start(service, id)
  }
  const all = new Map<Service, ControllerProcess[]>(
    SERVICES.map(service => [service, [start(service), start(service)]]),
  )
  return {
    of: service => all.get(service) ?? [],
    replace(service, victim) {
      victim.kill()
      all.set(
        service,
        (all.get(service) ?? []).filter(each => each !== victim),
      )
      world.time.clock.after(random.int(MINUTE_MS), () => all.get(service)?.push(start(service)))
    },
  }
}

function mischief(world: World, random: SeededRandom, controllers: Crew): Record<Act, () => unknown> {
  const hand = hands(world)
  const learner = learners(world)
  const { faults } = world.coordination
  const { clock } = world.time
  const service = () => pick(random, SERVICES)
  const machine = (): string =>
    pick(
      random,
      world.workers().flatMap(each => (each.status === 'RUNNING' ? (each.ec2_instance_id ?? []) : [])),
    )
  return {
    cancel: () =>
      learner.cancel(
        pick(
          random,
          [...world.sessions.sessions.values()].filter(each => !isFinal(each.status)),
        ).id,
      ),
    'kill a machine': () => hand.terminate(machine()),
    'remove labs': () => hand.removeLabs(machine()),
    'kill a leader'() {
      const name = service()
      controllers.replace(name, pick(random, controllers.of(name)))
    },
    'freeze a leader'() {
      const name = service()
      const victim = pick(random, controllers.of(name))
      victim.freeze()
      faults.loseLease(name)
      clock.after(random.int(2 * MINUTE_MS), () => victim.thaw())
    },
    'lose a lease': () => faults.loseLease(service()),
    'break the streams': () => faults.breakStreams(),
    'cut CML'() {
      world.ways.isCmlCut = true
      clock.after(random.int(CUT_MS_MAX), () => {
        world.ways.isCmlCut = false
      })
    },
    'drop and double events'() {
      faults.setDelivery(() => ({ copies: random.int(3) }))
      clock.after(random.int(CUT_MS_MAX), () => faults.setDelivery(undefined))
    },
  }
}

function tally(sessions: readonly LabletSession[]): Record<string, number> {
  const ends: Record<string, number> = {}
  for (const { status, desired_status, last_error } of sessions) {
    const why = last_error?.split(':')[0] ?? (desired_status === 'TERMINATED' ? 'cancelled' : '')
    const end = `${status} ${why}`.trim()
    ends[end] = (ends[end] ?? 0) + 1
  }
  return ends
}
