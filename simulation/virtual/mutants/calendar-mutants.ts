import type { Dispatch } from '@lcm/contract/route-spec'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { Settings } from '@lcm/domain/fleet/settings'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { Defects } from '../world/world.ts'
import { at, changeDocuments, changeInserts, type Mutant } from './mutant.ts'

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

const LATE_MS = 25 * 60_000
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
]
