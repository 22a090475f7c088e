import { TimingList } from '@lcm/contract/calendar/timing'
import type { Dispatch } from '@lcm/contract/route-spec'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { Settings } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { POLICY, paused } from '@lcm/domain/worker/lifecycle'
import type { Clock } from '@lcm/runtime/clock'
import { METAL } from '../world/control-plane.ts'
import { MINUTE_MS } from '../world/durations.ts'
import type { Defects } from '../world/world.ts'
import { at, changeDocuments, changeInserts, changeResponses, type Mutant } from './mutant.ts'

/** Four seats of a lab that needs a machine each, later than anything is placed. The run may have five machines. */
const crowdAt = (minute: number) => at(minute, 'book a class', { target: 0.17, amount: 0.92 })
const CROWDS = [crowdAt(1), crowdAt(2), crowdAt(3)]

type Admission = LabletSession['admission']

const changeAdmissions = (change: (admission: Admission) => Partial<Admission>) =>
  changeInserts(RESOURCES.sessions, session => ({
    ...session,
    admission: { ...session.admission, ...change(session.admission) },
  }))

const withoutLimit = (settings: Settings): Settings => ({
  ...settings,
  given: { ...settings.given, max_workers_per_region: 1_000 },
})

const LATE_MS = 25 * MINUTE_MS
const STARTS_MACHINES = /POST .*\/workers\/(scale-up|[^/]+\/resume)$/

/** The scheduler's requests to start or buy a machine fail for so long. */
function lateStarts(): Defects {
  let time: Clock | null = null
  const firstMs = new Map<string, number>()
  const late =
    (dispatch: Dispatch): Dispatch =>
    async request => {
      const what = `${request.method} ${request.url}`
      if (time === null || !STARTS_MACHINES.test(what)) return dispatch(request)
      const sinceMs = firstMs.get(what) ?? time.now()
      firstMs.set(what, sinceMs)
      if (time.now() - sinceMs < LATE_MS) throw new Error('on purpose')
      firstMs.delete(what)
      return dispatch(request)
    }
  return {
    clock(clock) {
      time = clock
      return clock
    },
    requests: (dispatch, service) => (service === 'resource-scheduler' ? late(dispatch) : dispatch),
  }
}

const isBoot = ({ id }: { readonly id: string }): boolean => /^(first_)?boot:/.test(id)

/** The scheduler reads that each of the last boots took so long. */
const bootsOf = (ms: number) => {
  const boots = (template: string) =>
    ['boot', 'first_boot'].map(kind => ({
      ...{ id: `${kind}:${template}`, version: 1, created_at: EVER, updated_at: EVER },
      recent_ms: Array.from({ length: 100 }, () => ms),
    }))
  return changeResponses(/GET .*\/timings(\?|$)/, body => {
    const { items } = TimingList.parse(body)
    return { ...body, items: [...items.filter(each => !isBoot(each)), ...boots(METAL.name)] }
  })
}
const EVER = '2026-01-01T00:00:00.000Z'

/** The idle policy stops a machine that was started for sessions as soon as it runs, so many times at most. */
function stopsStarted(timesMax: number) {
  const stops = new Map<string, number>()
  return changeDocuments(RESOURCES.workers, (worker, before) => {
    const count = stops.get(worker.id) ?? 0
    const isStarted = before !== null && before.status !== 'RUNNING' && worker.status === 'RUNNING'
    if (!isStarted || worker.wanted_by.length === 0 || count >= timesMax) return worker
    stops.set(worker.id, count + 1)
    const stopped = { ...worker, wanted_by: [], desired_status: 'STOPPED' as const, desired_by: POLICY.idle }
    return paused(stopped, reason('worker_idle'), worker.updated_at)
  })
}

/** Defects in admission, and in what the scheduler makes of its promises. */
export const calendarMutants: readonly Mutant[] = [
  {
    name: 'promise ends with its start',
    breaks: 'the span of a promise is too short, so that later bookings get the same capacity',
    caughtBy: /is promised capacity from .* and lasts from/,
    acts: CROWDS,
    defects: () => ({
      store: changeAdmissions(({ span }) => ({ span: span && { ...span, until: toInstant(toMs(span.from) + 1) } })),
    }),
  },
  {
    name: 'admission ignores promises',
    breaks: 'capacity that was promised is promised again until its sessions are placed',
    caughtBy: /is promised capacity at .*, when \d+ sessions need/,
    acts: CROWDS,
    defects: () => ({ store: changeAdmissions(() => ({ number: null })) }),
  },
  {
    name: 'admission ignores the region limit',
    breaks: 'capacity is promised on machines that may not be bought',
    caughtBy: /is promised capacity at .*, when \d+ sessions need/,
    acts: CROWDS,
    defects: () => ({
      store: store =>
        changeInserts(RESOURCES.settings, withoutLimit)(changeDocuments(RESOURCES.settings, withoutLimit)(store)),
    }),
  },
  {
    name: 'machine started late',
    breaks: 'a machine is started when its first session is about to begin',
    caughtBy: /was admitted and (is (PENDING|SCHEDULED|INSTANTIATING)|has no running lab)/,
    calmDays: 1,
    defects: lateStarts,
  },
  {
    name: 'boots underestimated',
    breaks: 'a machine is started two minutes before it is needed, though boots take longer',
    caughtBy: /was admitted and (is (PENDING|SCHEDULED|INSTANTIATING)|has no running lab)/,
    calmDays: 1,
    defects: () => ({ requests: bootsOf(MINUTE_MS) }),
  },
  {
    name: 'stop before a booking',
    breaks: 'the idle policy stops machines that were started for a session, before it begins',
    caughtBy: /was admitted and (is (PENDING|SCHEDULED|INSTANTIATING)|has no running lab)/,
    calmDays: 1,
    defects: () => ({ store: stopsStarted(Number.POSITIVE_INFINITY) }),
  },
  {
    name: 'flapping',
    breaks:
      'a machine is started long before a session, stopped as idle, and started again for the same session in time',
    caughtBy: /was stopped before it was used, and started again/,
    calmDays: 1,
    defects: () => ({ requests: bootsOf(60 * MINUTE_MS), store: stopsStarted(1) }),
  },
]
