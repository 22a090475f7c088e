/** Figure 5.5: one cycle over 1,000 sessions and 200 workers, and one placement over 1,000 workers. */

import { timingsOf } from '@lcm/domain/calendar/timings'
import { withReservation } from '@lcm/domain/calendar/worker-ledger'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { demandOf } from '@lcm/domain/session/demand'
import { place } from '@lcm/domain/session/placement'
import { schedule } from '@lcm/domain/session/scheduling'
import type { SchedulingInput } from '@lcm/domain/session/scheduling-types'
import type { Worker } from '@lcm/domain/worker/worker'
import { systemClock } from '@lcm/runtime/clock'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { atMost, conclude, shown } from '../../report/figure-report.ts'

const SESSIONS = 1_000
const WORKERS = 200
const CYCLE_BAR_MS = 2_000
const PLACEMENT_WORKERS = 1_000
const PLACEMENT_BAR_MS = 5
const ROUNDS = 100

const random = seededRandom(5)
const kinds = Array.from({ length: 40 }, (_, n) => `node-definition-${n}`)
const start = toMs(aSession().created_at)

/** Sessions of different sizes with node definitions, ports and a CML version. */
const definitions = Array.from({ length: 50 }, (_, n): LabletDefinition => {
  const node_count = 2 + random.int(10)
  return aDefinition({
    id: `ld-${n}`,
    needs: { cpu_cores: node_count, memory_gb: 1 + random.int(32), storage_gb: 10 * node_count, node_count },
    node_definitions_required: kinds.slice(n % 30, (n % 30) + 8),
    cml_version: { min: '2.9', max: null },
    license_affinity: n % 5 === 0 ? ['CML_Enterprise'] : [],
    port_template: Array.from({ length: node_count }, (_, port) => ({
      name: `p${port}`,
      node: 'R1',
      protocol: 'serial' as const,
      inside: 0,
    })),
  })
})
const definitionOf = (n: number): LabletDefinition => definitions[n % definitions.length] ?? aDefinition()

/** Workers with sessions, parsed from JSON like responses of the API, so that they share no strings. */
function aFleet(count: number): Worker[] {
  const workers = Array.from({ length: count }, (_, n) => {
    const empty = aServingWorker({
      id: `w-${n}`,
      name: `metal-${n}`,
      cml: {
        version: '2.9.1',
        ready: true,
        certificate_sha256: null,
        seen_certificate_sha256: null,
        node_definitions: kinds,
        restarted_at: null,
        up_until: null,
      },
    })
    return Array.from({ length: 1 + random.int(5) }, (_, held) => held).reduce(
      (worker, held) => withReservation(worker, `held-${n}-${held}`, definitionOf(n + held).needs, toInstant(start)),
      empty,
    )
  })
  return JSON.parse(JSON.stringify(workers))
}

const slot = (startMs: number) => ({ start: toInstant(startMs), end: toInstant(startMs + 3_600_000) })

/** Half of the waiting sessions begin now, and half so late that capacity may become free in time. */
const aCycle = (workers: readonly Worker[]): SchedulingInput => ({
  sessions: [
    ...workers.flatMap(({ id, reservations }, n) =>
      Object.keys(reservations).map(held =>
        aSession({ id: held, status: 'RUNNING', worker_id: id, timeslot: slot(start - 60_000 * (30 + (n % 30))) }),
      ),
    ),
    ...Array.from({ length: SESSIONS }, (_, n) => {
      const { id, name, definition_version: version, needs } = definitionOf(n)
      const timeslot = slot(start + (n % 2) * 34 * 60_000)
      return aSession({ id: `ls-${n}`, definition: { id, name, version }, needs, timeslot })
    }),
  ],
  definitions: new Map(definitions.map(each => [each.id, each])),
  workers,
  templates: [aTemplate({ license_product: 'CML_Enterprise' })],
  settings: { ...SETTING_DEFAULTS, max_workers_per_region: 10_000 },
  timings: timingsOf([]),
  region: 'us-east-1',
  leaving: new Map(),
  previous: null,
  nowMs: start,
})

interface Times {
  readonly first: number
  readonly median: number
  readonly slowest: number
}

function timesOf(rounds: number, work: () => unknown): Times {
  const all = Array.from({ length: rounds }, () => {
    const startedAt = systemClock.monotonic()
    work()
    return Number((systemClock.monotonic() - startedAt).toFixed(2))
  })
  // Warm-up: the first rounds compile.
  const warm = all.slice(rounds / 10).toSorted((a, b) => a - b)
  return {
    first: all[0] ?? Number.NaN,
    median: warm[warm.length >> 1] ?? Number.NaN,
    slowest: warm.at(-1) ?? Number.NaN,
  }
}

const fleet = aFleet(WORKERS)
const roomy = aCycle(fleet)
const placed = schedule(roomy).steps.filter(({ kind }) => kind === 'assign').length
const demand = demandOf(definitionOf(1), 'ls-1')
const large = aFleet(PLACEMENT_WORKERS)
const cycles: Readonly<Record<string, Times>> = {
  [`${placed} placed`]: timesOf(ROUNDS, () => schedule(roomy)),
  'all to be bought': timesOf(ROUNDS, () => schedule(aCycle(fleet.map(worker => ({ ...worker, cordoned: true }))))),
  'all workers on their way': timesOf(ROUNDS, () =>
    schedule(aCycle(fleet.map(worker => ({ ...worker, status: 'STARTING' })))),
  ),
}
const placement = timesOf(ROUNDS, () => place(demand, large))
const rest = ({ first, slowest }: Times) => `the first ${first} ms, the slowest ${slowest} ms`
conclude({
  bench: 'placement',
  figures: [
    ...Object.entries(cycles).map(([what, times]) =>
      atMost(`a cycle of ${shown(SESSIONS)} sessions on ${WORKERS} workers, ${what}: the slowest`, CYCLE_BAR_MS, {
        value: Math.max(times.slowest, times.first),
        unit: 'ms',
        more: `median ${times.median} ms`,
      }),
    ),
    atMost(`one placement over ${shown(PLACEMENT_WORKERS)} workers`, PLACEMENT_BAR_MS, {
      value: placement.median,
      unit: 'ms',
      more: rest(placement),
    }),
  ],
})
