import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/builders'
import { describe, expect, it } from 'vitest'
import { SETTING_DEFAULTS } from '../fleet/settings.ts'
import { toInstant, toMs } from '../instant.ts'
import { textReason } from '../reason.ts'
import { NEVER_PAUSED } from '../worker/parts.ts'
import type { Worker } from '../worker/worker.ts'
import { schedule } from './scheduling.ts'
import type { SchedulingInput, SchedulingStep } from './scheduling-step.ts'

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
const world = (more: Partial<SchedulingInput>): SchedulingInput => ({
  sessions: [booked('s', 4)],
  definitions: new Map([['ld-1', aDefinition()]]),
  workers: [],
  templates: [template('metal', 100, 4)],
  settings: { ...SETTING_DEFAULTS, max_workers_per_region: 1000 },
  region: 'us-east-1',
  nowMs: NOW,
  ...more,
})
const boughtBy = (steps: readonly SchedulingStep[]) =>
  steps.flatMap(step => (step.kind === 'scale_up' ? [[step.template_name, step.count, ...step.session_ids]] : []))
const silentSince = (minutes: number): Worker['conditions'] => [
  { type: 'CmlReady', status: false, reason: textReason(''), since: at(minutes) },
]

const resumedAt = (minutes: number): Worker['pause'] => ({ ...NEVER_PAUSED, last_resumed_at: at(minutes) })

describe('a worker that is lost is not on its way', () => {
  it.each<[string, number, (minutes: number) => Partial<Worker>]>([
    ['runs, and its CML is silent', 10, since => ({ service_status: 'UNAVAILABLE', conditions: silentSince(since) })],
    ['is UNKNOWN', 10, since => ({ status: 'UNKNOWN', entered_status_at: at(since) })],
    ['is STOPPED and wanted', 10, since => ({ status: 'STOPPED', entered_status_at: at(since) })],
    // However long it was at rest before: it is the wish to have it run that is not followed.
    [
      'was resumed and does not leave STOPPED',
      10,
      since => ({ status: 'STOPPED', entered_status_at: at(-600), pause: resumedAt(since) }),
    ],
    // EC2 has no machine of its kind in its zone; a new one may go to another zone.
    ['does not get through its start', 30, since => ({ status: 'STARTING', entered_status_at: at(since) })],
    ['does not get through its stop', 30, since => ({ status: 'STOPPING', entered_status_at: at(since) })],
  ])('one that %s is waited for during %i minutes, and then bought for', (_, minutes, stateSince) => {
    const created_at = at(-1000)
    const away = (since: number) => world({ workers: [{ ...aServingWorker({ created_at }), ...stateSince(since) }] })
    expect(boughtBy(schedule(away(1 - minutes)))).toEqual([])
    expect(boughtBy(schedule(away(-1 - minutes)))).toEqual([['metal', 1, 's']])
  })

  /** Another one of its kind would wait for the same; how long is judged where it is launched. */
  it.each(['PENDING', 'PROVISIONING'] as const)('one that is %s is waited for', status => {
    const young = { ...aServingWorker(), status, entered_status_at: at(-600) }
    expect(boughtBy(schedule(world({ workers: [young] })))).toEqual([])
  })
})

/**
 * What CML knows is read a moment after it serves. A lab that needs what it lacks would fail at its import, three times, in
 * somebody's slot. So it waits that moment, unless it needs only what every CML has. A new machine would be no quicker, and one
 * that lets nobody in to read would let nobody in to import: nothing is bought for it, and the session says for what it waits.
 */
describe('a worker whose node definitions are not known yet', () => {
  const stepsFor = (kinds: string[], entered_status_at = at(0)) => {
    const definitions = new Map([['ld-1', aDefinition({ node_definitions_required: kinds })]])
    const unread = aServingWorker({ entered_status_at, cml: { ...aServingWorker().cml, node_definitions: [] } })
    return schedule(world({ definitions, workers: [unread] }))
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

  it('is given what needs nothing but what every CML has', () => {
    expect(stepsFor(['external_connector', 'unmanaged_switch']).map(({ kind }) => kind)).toEqual(['assign'])
  })
})
