/** Figure of 5.9: one plan of 1,000 sessions on 200 workers, and how it grows. */
import { RECENT_MAX, timingId, timingsOf } from '@lcm/domain/calendar/timings'
import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { planFleet } from '@lcm/domain/plan/plan-fleet'
import type { PlanInput } from '@lcm/domain/plan/plan-input'
import { reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import { type SeededRandom, seededRandom } from '@lcm/testkit/seeded-random'
import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { atMost, conclude, measured, shown } from '../../report/figure-report.ts'

const MINUTE_MS = 60_000
const HORIZON_MINUTES = 48 * 60
const SESSIONS = 1_000
const WORKERS = 200
const CPU_BAR_S = 2
const ROUNDS = 5
const NOW = toMs(aSession().created_at)

const definitions = new Map(
  [2, 4, 6, 8].map(cpu_cores => {
    const needs = { cpu_cores, memory_gb: 3 * cpu_cores, storage_gb: 2, node_count: cpu_cores }
    return [`ld-${cpu_cores}`, aDefinition({ id: `ld-${cpu_cores}`, needs, node_definitions_required: ['iosv'] })]
  }),
)
const METAL = aTemplate({ name: 'metal', license_product: 'CML_Site' })

/** Classes of 20 and single sessions, over two days. */
function bookingsOf(random: SeededRandom, count: number): PlanInput['sessions'] {
  let slot = { start: NOW, definition: 'ld-2', minutes: 60 }
  return Array.from({ length: count }, (_, n) => {
    if (n % 20 === 0 || n % 5 === 0)
      slot = {
        start: NOW + 15 * MINUTE_MS * random.int(HORIZON_MINUTES / 15),
        definition: `ld-${2 + 2 * random.int(4)}`,
        minutes: 60 + 30 * random.int(5),
      }
    const definition = definitions.get(slot.definition) ?? aDefinition()
    return aSession({
      id: `s-${n}`,
      definition: { id: definition.id, name: definition.name, version: '1.0.0' },
      needs: definition.needs,
      timeslot: { start: toInstant(slot.start), end: toInstant(slot.start + slot.minutes * MINUTE_MS) },
    })
  })
}

/** A third serves, each with sessions; the others sleep. */
function fleetOf(count: number): { workers: Worker[]; running: PlanInput['sessions'] } {
  const running = Array.from({ length: Math.ceil(count / 3) }, (_, n) => `held-${n}`).map(id =>
    aSession({
      id,
      status: 'RUNNING',
      needs: { cpu_cores: 8, memory_gb: 24, storage_gb: 2, node_count: 8 },
      definition: { id: 'ld-8', name: 'ld-8', version: '1.0.0' },
      timeslot: { start: toInstant(NOW - 60 * MINUTE_MS), end: toInstant(NOW + 60 * MINUTE_MS) },
    }),
  )
  const workers = Array.from({ length: count }, (_, n): Worker => {
    const cml = { ...aServingWorker().cml, node_definitions: ['iosv'] }
    const worker = aServingWorker({ id: `w-${n}`, name: `metal-${n}`, cml })
    const session = running[n]
    if (session !== undefined)
      return withReservation(worker, session.id, session.needs, {
        since: toInstant(NOW),
        from: toInstant(NOW),
        until: session.timeslot.end,
      })
    const pause = { ...worker.pause, reason: reason('worker_idle') }
    return { ...worker, status: 'STOPPED', service_status: 'UNAVAILABLE', desired_status: 'STOPPED', pause }
  })
  return { workers, running }
}

function anInput(sessions: number, count: number, more: Partial<PlanInput> = {}): PlanInput {
  const random = seededRandom(23)
  const { workers, running } = fleetOf(count)
  return {
    nowMs: NOW,
    sessions: [...running, ...bookingsOf(random, sessions)],
    definitions,
    workers,
    templates: [METAL],
    settings: {
      ...SETTING_DEFAULTS,
      max_workers_per_region: 10_000,
      boot_lead_minutes: 'auto',
      terminate_sleeping: false,
    },
    region: 'us-east-1',
    timings: timingsOf([{ id: timingId.boot('metal'), recent_ms: new Array(RECENT_MAX).fill(9 * MINUTE_MS) }]),
    previous: null,
    bestEffort: new Set(),
    ...more,
  }
}

/** CPU seconds of one plan, the slowest round: the scheduler has no time to warm up. */
function cpuOf(input: PlanInput): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    planFleet(input)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1e6
  })
  return Math.max(...rounds)
}

const seconds = (cpu: number): string => `${cpu.toFixed(3)} s`
const usual = anInput(SESSIONS, WORKERS)
const previous = planFleet(usual)
const ways: readonly (readonly [string, PlanInput])[] = [
  ['the first one', usual],
  ['after another plan', { ...usual, previous }],
  [
    'of three templates to buy',
    anInput(SESSIONS, 20, { templates: [METAL, ...['b', 'c'].map(name => ({ ...METAL, name }))] }),
  ],
  ['with too few workers', anInput(SESSIONS, 20, { settings: { ...usual.settings, max_workers_per_region: 20 } })],
]
const sizes: readonly (readonly [number, number])[] = [
  [250, WORKERS],
  [500, WORKERS],
  [SESSIONS, 50],
  [2 * SESSIONS, WORKERS],
  [SESSIONS, 2 * WORKERS],
]
conclude({
  bench: 'plan',
  figures: [
    ...ways.map(([what, input]) =>
      atMost(
        `a plan of ${shown(SESSIONS)} sessions and ${shown(input.workers.length)} workers, ${what}: CPU`,
        CPU_BAR_S,
        {
          value: Number(cpuOf(input).toFixed(3)),
          unit: 's',
        },
      ),
    ),
    ...sizes.map(([sessions, workers]) =>
      measured(
        `a plan of ${shown(sessions)} sessions and ${shown(workers)} workers`,
        `${seconds(cpuOf(anInput(sessions, workers)))} of CPU`,
      ),
    ),
  ],
})
