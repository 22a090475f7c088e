import { Timing } from '@lcm/domain/calendar/timings'
import { listOf, Page } from '../common-schemas.ts'
import { EVERYONE, type RouteSpec } from '../route-spec.ts'

export const TimingList = listOf(Timing).meta({ id: 'TimingList', description: 'A page of timings.' })

export const TIMING_ROUTES = {
  listTimings: {
    method: 'GET',
    path: '/timings',
    summary: 'List measured durations',
    description:
      'Returns how long machines, labs and teardowns took lately: `boot:<template>` and `first_boot:<template>` until CML served, ' +
      '`lab:<definition>` from the start of a lab until its session was READY, `teardown` from the end of a session until its capacity ' +
      'was released. Starts that failed, were interrupted or were not watched all the time are left out.',
    access: EVERYONE,
    query: Page,
    status: 200,
    answer: TimingList,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
