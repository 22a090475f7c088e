import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { timingsOf } from '../calendar/timings.ts'
import { SETTING_DEFAULTS } from '../fleet/settings.ts'
import { toInstant, toMs } from '../instant.ts'
import { textReason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { NEVER_PAUSED } from '../worker/worker-field-schemas.ts'
import { schedule as scheduleOf } from './scheduling.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-types.ts'

const MINUTE = 60_000
const NOW = toMs(aSession().created_at)
const at = (minutes: number) => toInstant(NOW + minutes * MINUTE)
const booked = (id: string, memory_gb: number) =>
  aSession({
    id,
    needs: { cpu_cores: 1, memory_gb, storage_gb: 1, node_count: 1 },
    timeslot: { start: at(0), end: at(60) },
  })
const template = (name: string, memory_gb: number, cost_per_hour_usd: number) =>
  aTemplate({ name, cost_per_hour_usd, capacity: { cpu_cores: 1000, memory_gb, storage_gb: 1000, max_nodes: 1000 } })
const anInput = (more: Partial<SchedulingInput>): SchedulingInput => ({
  sessions: [booked('s', 4)],
  definitions: new Map([['ld-1', aDefinition()]]),
  workers: [],
  templates: [template('metal', 100, 4)],
  settings: { ...SETTING_DEFAULTS, max_workers_per_region: 1000 },
  timings: timingsOf([]),
  region: 'us-east-1',
  leaving: new Map(),
  previous: null,
  nowMs: NOW,
  ...more,
})
const schedule = (input: SchedulingInput) => scheduleOf(input).steps
const boughtBy = (steps: readonly SchedulingStep[]) =>
  steps.flatMap(step => (step.kind === 'scale_up' ? [[step.template_name, step.count, ...step.session_ids]] : []))
const silentSince = (minutes: number): Worker['conditions'] => [
  { type: 'CmlReady', status: false, reason: textReason(''), since: at(minutes) },
]

const resumedAt = (minutes: number): Worker['pause'] => ({ ...NEVER_PAUSED, last_resumed_at: at(minutes) })

describe('a lost worker does not count as arriving', () => {
  it.each<[string, number, (minutes: number) => Partial<Worker>]>([
    [
      'runs, and its CML does not answer',
      10,
      since => ({ service_status: 'UNAVAILABLE', conditions: silentSince(since) }),
    ],
    ['is UNKNOWN', 10, since => ({ status: 'UNKNOWN', entered_status_at: at(since) })],
    ['is STOPPED although RUNNING is desired', 10, since => ({ status: 'STOPPED', entered_status_at: at(since) })],
    // Counted from the request to run, however long the worker was stopped before.
    [
      'was resumed and does not leave STOPPED',
      10,
      since => ({ status: 'STOPPED', entered_status_at: at(-600), pause: resumedAt(since) }),
    ],
    // EC2 has no machine of its kind in its zone; a new one may go to another zone.
    ['does not complete its start', 30, since => ({ status: 'STARTING', entered_status_at: at(since) })],
    ['does not complete its stop', 30, since => ({ status: 'STOPPING', entered_status_at: at(since) })],
  ])('one that %s is waited for during %i minutes, and then a new one is bought', (_, minutes, stateSince) => {
    const created_at = at(-1000)
    const away = (since: number) => anInput({ workers: [{ ...aServingWorker({ created_at }), ...stateSince(since) }] })
    expect(boughtBy(schedule(away(1 - minutes)))).toEqual([])
    expect(boughtBy(schedule(away(-1 - minutes)))).toEqual([['metal', 1, 's']])
  })

  /** Another worker of this template would wait for the same. The launch itself has the timeout. */
  it.each(['PENDING', 'PROVISIONING'] as const)('one that is %s is waited for', status => {
    const young = { ...aServingWorker(), status, entered_status_at: at(-600) }
    expect(boughtBy(schedule(anInput({ workers: [young] })))).toEqual([])
  })
})

/**
 * Node definitions are read a moment after CML serves. A lab that needs a missing one would fail at its import, three times,
 * during the slot. So the session waits, unless it needs only built-in ones. A new machine would not be faster, and a server that
 * refuses the login refuses imports too: nothing is bought, and the waiting reason names the node definitions.
 */
describe('a worker whose node definitions are not known yet', () => {
  const stepsFor = (kinds: string[], entered_status_at = at(0)) => {
    const definitions = new Map([['ld-1', aDefinition({ node_definitions_required: kinds })]])
    const unread = aServingWorker({ entered_status_at, cml: { ...aServingWorker().cml, node_definitions: [] } })
    return schedule(anInput({ definitions, workers: [unread] }))
  }

  it.each([0, -600])('is given no lab, and is waited for rather than bought for, also after %i minutes', minutes => {
    expect(stepsFor(['iosv'], at(minutes))).toMatchObject([
      {
        kind: 'wait',
        because: { code: 'waiting_for_node_definitions', params: { worker: 'metal-1' } },
        forGood: false,
      },
    ])
  })

  it('gets sessions that need only built-in node definitions', () => {
    expect(stepsFor(['external_connector', 'unmanaged_switch']).map(({ kind }) => kind)).toEqual(['assign'])
  })
})
