import { isProblem } from '@lcm/client/client'
import { toInstant } from '@lcm/domain/instant'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { type Learners, learnersOf, SETTLED_MS } from '../people/learner-requests.ts'
import { operatorOf } from '../people/operator-requests.ts'
import { METAL } from '../world/control-plane.ts'
import { RELAXED_SETTINGS } from '../world/controller-settings.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import { SimulationFailure } from '../world/time-control.ts'
import { type Defects, openWorld, type World } from '../world/world.ts'
import { type KeptPromises, keptPromises } from './kept-promises.ts'
import { type Booking, type CalmFleet, fleetOf, timetable } from './timetable.ts'

const DAY_MS = 24 * HOUR_MS
const CHECK_EVERY_MS = 6 * HOUR_MS
/** The longest that a fleet needs after the last session of a day. */
const OVER_MS_MAX = 12 * HOUR_MS

export interface CalmOutcome {
  readonly days: number
  /** Seats that people asked for. */
  readonly seats: number
  readonly admitted: number
  readonly best_effort: number
  readonly refused: number
  readonly canceled: number
  readonly extended: number
  readonly extensions_refused: number
  /** Admitted sessions that had no lab at some moment of their timeslot. */
  readonly without_capacity: number
  /** Machines that were started, stopped and started again for the same booking. */
  readonly flaps: number
  /** Starts and launches of machines. */
  readonly boots: number
  readonly broken: readonly string[]
}

type Counts = { -readonly [K in 'seats' | 'refused' | 'canceled' | 'extended' | 'extensions_refused']: number }

export interface CalmOptions {
  readonly defects?: Defects
  /** Rejects at the first promise that is not kept. */
  readonly isStrict?: boolean
  onProgress?(hour: number): void
}

/**
 * Days of bookings on a cloud that refuses nothing, with machines that boot as slowly as real ones. Rejects when an invariant is
 * violated; promises that were not kept are counted.
 */
export async function calmRun(seed: number, days: number, options: CalmOptions = {}): Promise<CalmOutcome> {
  const fleet = fleetOf(seed)
  const world = await openCalmWorld(seed, fleet, options.defects)
  const people = { world, learner: learnersOf(world), counts: noCounts() }
  await people.learner.define({ max_duration_minutes: 300, saves_enabled: false })
  const promises = keptPromises(world)
  await performAll(people, { requests: requestsOf(people, timetable(seed, days, fleet)), days, promises, ...options })
  await untilOver(world, promises)
  const outcome = outcomeOf(world, promises)
  await world.close()
  const [breach] = outcome.broken
  if (options.isStrict && breach !== undefined) throw world.failure(breach)
  return { days, ...people.counts, ...outcome }
}

/** The first violation of a run, or the first promise that is not kept; null without any. */
export async function calmFailureOf(
  seed: number,
  days: number,
  { defects = {} }: Pick<CalmOptions, 'defects'> = {},
): Promise<SimulationFailure | null> {
  try {
    await calmRun(seed, days, { defects, isStrict: true })
    return null
  } catch (error) {
    if (error instanceof SimulationFailure) return error
    throw error
  }
}

const noCounts = (): Counts => ({ seats: 0, refused: 0, canceled: 0, extended: 0, extensions_refused: 0 })

async function openCalmWorld(seed: number, { workersMax, seats }: CalmFleet, defects: Defects = {}): Promise<World> {
  const template = WorkerTemplateSpec.parse({ ...METAL, license_product: seats === null ? null : LICENSE.product })
  const { worker, ...relaxed } = RELAXED_SETTINGS
  const settings = { ...relaxed, worker: { ...worker, idleCheckIntervalMs: 5 * MINUTE_MS } }
  const world = await openWorld(seed, { templates: [template], settings, labsCountedMs: 5 * MINUTE_MS, defects })
  const operator = operatorOf(world)
  if (seats !== null) await operator.setSeats(seats)
  await operator.set({ max_workers_per_region: workersMax })
  world.startWorkerController('worker-controller')
  world.sessions.start('resource-scheduler', 'resource-scheduler')
  world.sessions.start('lablet-controller', 'lablet-controller')
  return world
}

interface People {
  readonly world: World
  readonly learner: Learners
  readonly counts: Counts
}

interface Request {
  readonly atMs: number
  perform(): Promise<void>
}

/** Every booking with its later changes, in the order of time. */
const requestsOf = (people: People, bookings: readonly Booking[]): Request[] =>
  bookings.flatMap(booking => requestsOfBooking(people, booking)).toSorted((a, b) => a.atMs - b.atMs)

function requestsOfBooking({ world, learner, counts }: People, booking: Booking): Request[] {
  const { definition, minutes, by, cancel, extend } = booking
  const firstMs = world.time.clock.now()
  let booked: readonly LabletSession[] = []
  const body = {
    ...{ definition, duration_minutes: minutes, best_effort: booking.isWalkIn },
    ...(booking.isWalkIn ? {} : { start: toInstant(firstMs + booking.startMs) }),
  }
  const client = world.learner(by)
  const requests: Request[] = [
    {
      atMs: booking.atMs,
      async perform() {
        counts.seats += booking.seats
        const answer = await unlessShort(client.call('createSessions', { body: { ...body, seats: booking.seats } }))
        if (answer === null) counts.refused += booking.seats
        else booked = answer.items
      },
    },
  ]
  const open = () => booked.filter(({ id }) => !isEnding(world.sessions.following.sessions.get(id)))
  if (cancel !== null)
    requests.push({
      atMs: cancel.atMs,
      async perform() {
        for (const { id } of open().slice(0, Math.ceil(cancel.share * booked.length))) {
          await learner.cancel(id)
          counts.canceled += 1
        }
      },
    })
  if (extend !== null)
    requests.push({
      atMs: extend.atMs,
      async perform() {
        const [first] = open()
        if (first === undefined) return
        const answer = client.call('extendSession', { params: { id: first.id }, body: { minutes: extend.minutes } })
        if ((await unlessShort(answer)) === null) counts.extensions_refused += 1
        else counts.extended += 1
      },
    })
  return requests
}

const isEnding = (session: LabletSession | undefined): boolean =>
  session === undefined || session.desired_status === 'TERMINATED' || isFinal(session.status)

/** Null when there is no capacity, which is an answer and no failure. */
async function unlessShort<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (isProblem(error, 'no_capacity_at_that_time')) return null
    throw error
  }
}

interface Performance extends CalmOptions {
  readonly requests: readonly Request[]
  readonly days: number
  readonly promises: KeptPromises
}

async function performAll({ world }: People, { requests, days, promises, ...options }: Performance): Promise<void> {
  const { isStrict = false, onProgress } = options
  const { clock } = world.time
  const firstMs = clock.now()
  const pending = new Set<Promise<void>>()
  const failed: unknown[] = []
  let next = 0
  for (let minute = 1; minute * MINUTE_MS <= days * DAY_MS; minute += 1) {
    const untilMs = minute * MINUTE_MS
    for (let request = requests[next]; request !== undefined && request.atMs < untilMs; request = requests[next]) {
      await world.runFor(Math.max(0, firstMs + request.atMs - clock.now()))
      const performed: Promise<void> = request
        .perform()
        .catch(error => void failed.push(error))
        .finally(() => pending.delete(performed))
      pending.add(performed)
      next += 1
    }
    await world.runFor(Math.max(0, firstMs + untilMs - clock.now()))
    promises.step()
    const [breach] = isStrict ? [...promises.flaps(), ...promises.broken.values()] : []
    if (breach !== undefined) throw world.failure(breach)
    if (failed.length > 0) throw world.failure(`a request failed: ${failed[0]}`)
    if (untilMs % CHECK_EVERY_MS === 0) await world.invariants.check()
    if (untilMs % HOUR_MS === 0) onProgress?.(untilMs / HOUR_MS)
  }
}

/** Runs until every session has ended, and checks that nothing is left. */
async function untilOver(world: World, promises: KeptPromises): Promise<void> {
  const { sessions } = world.sessions.following
  const isOver = () => [...sessions.values()].every(({ status }) => isFinal(status))
  for (let minute = 0; minute * MINUTE_MS < OVER_MS_MAX && !isOver(); minute += 1) {
    await world.runFor(MINUTE_MS)
    promises.step()
  }
  await world.runFor(SETTLED_MS)
  const left = [...sessions.values()].filter(({ status }) => !isFinal(status))
  if (left.length > 0) throw world.failure(`never over: ${left.map(({ id, status }) => `${id} ${status}`).join(', ')}`)
  const leftovers = world.sessions.leftovers()
  if (leftovers.length > 0) throw world.failure(leftovers.join('\n'))
}

function outcomeOf(world: World, promises: KeptPromises) {
  const all = [...world.sessions.following.sessions.values()]
  const flaps = promises.flaps()
  return {
    admitted: all.filter(({ admission }) => admission.kind === 'admitted').length,
    best_effort: all.filter(({ admission }) => admission.kind === 'best_effort').length,
    without_capacity: promises.broken.size,
    flaps: flaps.length,
    boots: world.mutations.filter(({ act }) => act === 'start' || act === 'launch').length,
    broken: [...flaps, ...promises.broken.values()],
  }
}
