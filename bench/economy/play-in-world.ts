import { toInstant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { operatorOf } from '../../simulation/virtual/people/operator-requests.ts'
import { METAL } from '../../simulation/virtual/world/control-plane.ts'
import type { Settings } from '../../simulation/virtual/world/controller-settings.ts'
import { openWorld, type World } from '../../simulation/virtual/world/world.ts'
import { TEMPLATE } from './cloud-times.ts'
import { type Booking, DAY_MS, HOUR_MS, LABS, MINUTE_MS } from './trace.ts'

/** Intervals that change no decision about money are long, so that a day takes a minute or two. */
const POLLING: Settings = {
  worker: {
    reconcileIntervalMs: 10 * MINUTE_MS,
    metricsIntervalMs: HOUR_MS,
    cmlCheckIntervalMs: HOUR_MS,
    discoveryIntervalMs: 10 * MINUTE_MS,
  },
  lablets: { reconcileIntervalMs: 10 * MINUTE_MS, labScanIntervalMs: HOUR_MS, contentSyncIntervalMs: HOUR_MS },
}
/** A switch needs no license and no image. */
const TOPOLOGY = JSON.stringify({
  lab: { version: '0.3.0', title: 'a lab' },
  nodes: [{ id: 'n0', label: 'S0', node_definition: 'unmanaged_switch', x: 0, y: 0, tags: [] }],
  links: [],
})
/** The last machines are idle until then. */
const AFTER_LAST_MS = 2 * HOUR_MS

export interface InWorld {
  readonly hours: number
  readonly boots: number
  readonly workers: number
}

/** Plays bookings through the whole system on virtual time: API, store, controllers and the simulated cloud. */
export async function playInWorld(bookings: readonly Booking[], seed: number): Promise<InWorld> {
  const templates = [{ ...METAL, capacity: TEMPLATE.capacity }]
  const world = await openWorld(seed, { speed: 1, preset: 'calm', settings: POLLING, templates })
  world.startWorkerController('one')
  world.sessions.start('resource-scheduler', 'scheduler')
  world.sessions.start('lablet-controller', 'lablets')
  await operatorOf(world).set({ max_workers_per_region: 500 })
  for (const [name, { needs }] of Object.entries(LABS))
    await world.client.call('createDefinition', {
      body: { name, topology: TOPOLOGY, needs, max_duration_minutes: 24 * 60 },
    })
  await live(world, bookings)
  const workers = await Promise.all(world.workers().map(({ id }) => world.worker(id)))
  const uses = workers.flatMap(worker => usesOf(worker, world.time.clock.now()))
  await world.close()
  const ms = uses.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0)
  return { hours: ms / HOUR_MS, boots: uses.length, workers: workers.length }
}

/** Learners book, cancel and leave, each at the time of the trace moved to the days of the world. */
async function live(world: World, bookings: readonly Booking[]): Promise<void> {
  const { clock } = world.time
  const firstMs = Math.min(...bookings.map(({ bookedMs }) => bookedMs))
  const shiftMs = Math.ceil(clock.now() / DAY_MS + 1) * DAY_MS - Math.floor(firstMs / DAY_MS) * DAY_MS
  const ids = new Map<string, string>()
  const book = async ({ id, lab, bookedMs, startMs, endMs }: Booking) => {
    const start = bookedMs < startMs ? { start: toInstant(startMs + shiftMs) } : {}
    const body = { definition: lab, duration_minutes: (endMs - startMs) / MINUTE_MS, ...start }
    ids.set(id, (await world.client.call('createSession', { body })).id)
  }
  const end = ({ id }: Booking) => world.client.call('cancelSession', { params: { id: ids.get(id) ?? '' } })
  const acts = bookings.flatMap(booking => {
    const { bookedMs, canceledMs, leftMs, endMs } = booking
    const begins = { ms: bookedMs, run: () => book(booking) }
    return canceledMs === null && leftMs >= endMs
      ? [begins]
      : [begins, { ms: canceledMs ?? leftMs, run: () => end(booking) }]
  })
  for (const { ms, run } of acts.sort((a, b) => a.ms - b.ms)) {
    if (ms + shiftMs > clock.now()) await world.runFor(ms + shiftMs - clock.now())
    await run()
  }
  const overMs = Math.max(...bookings.map(({ endMs }) => endMs)) + AFTER_LAST_MS + shiftMs
  await world.runFor(overMs - clock.now())
}

/** From each start of its machine until its stop was requested. */
function usesOf({ state_history }: Worker, nowMs: number): { fromMs: number; untilMs: number }[] {
  const uses: { fromMs: number; untilMs: number }[] = []
  let isOn = false
  for (const { to, at } of state_history) {
    const last = uses.at(-1)
    if (to === 'STARTING' && !isOn) uses.push({ fromMs: toMs(at), untilMs: nowMs })
    else if (to === 'STOPPING' && isOn && last !== undefined) last.untilMs = toMs(at)
    if (to === 'STARTING' || to === 'STOPPING') isOn = to === 'STARTING'
  }
  return uses
}
