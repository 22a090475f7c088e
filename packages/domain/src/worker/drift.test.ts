import { aLicenseObservation, anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { reason, textReason } from '../reason.ts'
import { decideWorker } from './decide.ts'
import { driftOf } from './drift.ts'
import { type Instance, TAG } from './ec2-instance.ts'
import { type Observation, WORKER_POLICY } from './observation.ts'
import type { Worker } from './worker.ts'
import { NO_LICENSE } from './worker-field-schemas.ts'

const seeing = (instance: Partial<Instance>, license: Observation['license'] = null): Observation =>
  anObservation({ ec2: anEc2Observation(instance), license })
const licensed = (registration: string) => aLicenseObservation({ registration })

it.each<[string, Worker, Observation, string | null]>([
  ['nothing', onMachine(), seeing({}), null],
  ['an instance that was stopped outside LCM', onMachine(), seeing({ state: 'stopped', public_ip: null }), 'state'],
  ['an instance that was started outside LCM', onMachine({ status: 'STOPPED' }), seeing({}), 'state'],
  ['a new address', onMachine(), seeing({ public_ip: '127.64.0.2' }), 'address'],
  ['another type', onMachine(), seeing({ instance_type: 'c5.metal' }), 'type'],
  [
    'a machine that is gone',
    onMachine(),
    { ...seeing({}), ec2: { kind: 'absent', confirmed: false, because: textReason('not seen') } },
    'absent',
  ],
  [
    'a cloud that does not answer',
    onMachine(),
    { ...seeing({}), ec2: { kind: 'unknown', because: textReason('no answer'), sinceMs: null } },
    null,
  ],
  ['a license that was registered outside LCM', onMachine(), seeing({}, licensed('COMPLETED')), 'license'],
  [
    'a license that is gone',
    onMachine({ license: { ...NO_LICENSE, status: 'REGISTERED' } }),
    seeing({}, licensed('NOT_REGISTERED')),
    'license',
  ],
  ['a tag of ours that is gone', onMachine(), seeing({ tags: {} }), 'tags'],
  ['a name that differs from the worker', onMachine({ name: 'ada' }), seeing({}), 'tags'],
  ['a name of an imported machine', onMachine({ name: 'ada', origin: 'DISCOVERY' }), seeing({}), null],
  ['the tag of another fleet', onMachine(), seeing({ tags: { [TAG.fleet]: 'theirs' } }), 'tags'],
  ['a tag that is gone while it starts', onMachine({ status: 'STARTING' }), seeing({ tags: {} }), 'tags'],
  [
    'a terminating machine, which loses its tags',
    onMachine({ status: 'TERMINATING' }),
    seeing({ state: 'terminated', tags: {} }),
    null,
  ],
  ['a change in progress', onMachine({ status: 'STOPPING' }), seeing({}), null],
  ['a worker without a machine', aWorker(), seeing({}), null],
])('sees %s', (_, worker, observed, drift) => {
  expect(driftOf(worker, observed, WORKER_POLICY)).toBe(drift)
})

const OURS = { 'lcm:fleet': 'lcm' }
const NOW_MS = Date.parse('2026-01-02T03:04:15.000Z')

const decide = (worker: Partial<Worker>, instance: Partial<Instance> = {}, seen: Partial<Observation> = {}) =>
  decideWorker(onMachine(worker), anObservation({ ec2: anEc2Observation(instance), ...seen }), WORKER_POLICY, NOW_MS)
const isTagged = (worker: Partial<Worker>, instance: Partial<Instance> = {}) =>
  decide(worker, instance).action.kind === 'tag'

const RENAMED = { name: 'ada' }
const STOPPED = {
  status: 'STOPPED',
  desired_status: 'STOPPED',
  service_status: 'UNAVAILABLE',
  public_ip: null,
} as const
const stopped = { state: 'stopped', public_ip: null } as const

describe('the tag Name of an instance that LCM launched', () => {
  it('becomes the name of its worker', () => {
    expect(decide(RENAMED)).toEqual({
      action: { kind: 'tag', tags: { Name: 'ada' }, afterMs: WORKER_POLICY.requeueMsMax },
      because: reason('name_tag_differs', { tag: 'Name', name: 'ada' }),
      guards: [],
    })
  })

  it('is left alone when it is right', () => {
    expect(decide({}).action.kind).toBe('nothing')
  })

  it('is set again when it was changed or removed', () => {
    expect(isTagged({}, { tags: { ...OURS, Name: 'mine' } })).toBe(true)
    expect(isTagged({}, { tags: OURS })).toBe(true)
  })

  it('follows the worker while its instance is stopped, and while it boots', () => {
    expect(isTagged({ ...RENAMED, ...STOPPED, https_endpoint: null }, stopped)).toBe(true)
    expect(isTagged({ ...RENAMED, status: 'PROVISIONING' }, { state: 'pending' })).toBe(true)
    const booting = decide(
      { ...RENAMED, status: 'STARTING', public_ip: null, https_endpoint: null, private_ip: null },
      {
        public_ip: null,
        private_ip: null,
      },
    )
    expect(booting.action).toMatchObject({ kind: 'tag', afterMs: WORKER_POLICY.requeueMs })
  })

  it.each<[string, Partial<Worker>, Partial<Instance>]>([
    ['that was imported', { origin: 'DISCOVERY' }, {}],
    ['that is not marked as ours', {}, { tags: { Name: 'x' } }],
    ['of another fleet', {}, { tags: { Name: 'x', 'lcm:fleet': 'another' } }],
    ['that another worker has', { ec2_instance_id: 'i-2' }, {}],
    ['that is terminating', {}, { state: 'shutting-down' }],
    ['that is to be terminated', { desired_status: 'TERMINATED', status: 'TERMINATING' }, {}],
  ])('is not changed on an instance %s', (_, worker, instance) => {
    expect(isTagged({ ...RENAMED, ...worker }, instance)).toBe(false)
  })

  it('delays no other step', () => {
    expect(decide({ ...RENAMED, desired_status: 'STOPPED' }).action).toMatchObject({ changes: { status: 'STOPPING' } })
    expect(decide({ ...RENAMED, status: 'STOPPING', desired_status: 'STOPPED' }).action.kind).toBe('stop')
    expect(decide(RENAMED, {}, { isSurveyDue: true }).action.kind).toBe('survey')
  })

  it('is set again only after its pause, and checked no later than without it', () => {
    const paused = { tagPauseMs: 600_000 }
    expect(decide(RENAMED, {}, paused).action).toEqual({ kind: 'wait', afterMs: 600_000 })
    const pending = decide({ ...RENAMED, status: 'PROVISIONING' }, { state: 'pending' }, paused)
    expect(pending.action).toMatchObject({ kind: 'wait', afterMs: WORKER_POLICY.requeueMs })
    expect(pending.because).toMatchObject({
      code: 'name_tag_retry',
      params: { tag: 'Name', cause: { code: 'ec2_reports', params: { state: 'pending' } } },
    })
  })
})

it('the instance of these tests has the name of their worker', () => {
  expect(anInstance().tags.Name).toBe(onMachine().name)
})
