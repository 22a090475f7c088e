import { anInstance } from '@lcm/testkit/builders'
import { aMachineSight, anObservation, onMachine } from '@lcm/testkit/observations'
import { describe, expect, it } from 'vitest'
import { reason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import type { Instance } from '../instance.ts'
import { type Observation, WORKER_POLICY } from '../observation.ts'
import type { Worker } from '../worker.ts'

const OURS = { 'lcm:fleet': 'lcm' }
const NOW_MS = Date.parse('2026-01-02T03:04:15.000Z')

const decide = (worker: Partial<Worker>, instance: Partial<Instance> = {}, seen: Partial<Observation> = {}) =>
  decideWorker(onMachine(worker), anObservation({ ec2: aMachineSight(instance), ...seen }), WORKER_POLICY, NOW_MS)
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
      action: { kind: 'tag', tags: { Name: 'ada' }, afterMs: WORKER_POLICY.lookAgainMsMax },
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
    expect(booting.action).toMatchObject({ kind: 'tag', afterMs: WORKER_POLICY.lookAgainMs })
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
    expect(pending.action).toMatchObject({ kind: 'wait', afterMs: WORKER_POLICY.lookAgainMs })
    expect(pending.because).toMatchObject({
      code: 'name_tag_retry',
      params: { tag: 'Name', cause: { code: 'ec2_reports', params: { state: 'pending' } } },
    })
  })
})

it('the instance of these tests has the name of their worker', () => {
  expect(anInstance().tags.Name).toBe(onMachine().name)
})
