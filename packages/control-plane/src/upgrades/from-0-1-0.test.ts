import { Reason } from '@lcm/domain/reason'
import { unschedulableBecause } from '@lcm/domain/session/unschedulable-reason'
import { retryDueMs } from '@lcm/domain/worker/decision/failure'
import { isTrusted } from '@lcm/domain/worker/instance-trust'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import { blankWorker, Worker } from '@lcm/domain/worker/worker'
import type { OldBody } from '@lcm/store/store'
import { describe, expect, it } from 'vitest'
import { FROM_0_1_0 } from './from-0-1-0.ts'

const upgrade = (kind: string, body: OldBody) => Object(FROM_0_1_0[kind]?.(body))
const text = (words: string) => ({ code: 'text', message: words, params: { text: words } })

describe('a reason of 0.1.0', () => {
  it('becomes a text', () => {
    const worker = { state_history: [{ from: 'STARTING', to: 'RUNNING', because: 'CML is ready' }], conditions: [] }
    expect(upgrade('worker', worker).state_history).toEqual([
      { from: 'STARTING', to: 'RUNNING', because: text('CML is ready') },
    ])
    expect(upgrade('license_leak', { reason: 'gone' }).reason).toEqual(text('gone'))
    expect(upgrade('lab_record', { runs: [{ reason: 'its session needs it' }] }).runs).toEqual([
      { reason: text('its session needs it') },
    ])
    expect(upgrade('instance', { plan: [{ because: 'it boots' }], problems: ['EC2 is down'] })).toEqual({
      plan: [{ because: text('it boots') }],
      problems: [text('EC2 is down')],
    })
    expect(upgrade('fleet_scaling', { stop_permits: { 'w-1': { reason: 'idle for 1 h' } } }).stop_permits).toEqual({
      'w-1': { reason: text('idle for 1 h') },
    })
  })

  it('is cut to the maximum length of a message', () => {
    const { reason } = upgrade('license_leak', { reason: 'x'.repeat(5_000) })
    expect(Reason.parse(reason).message).toHaveLength(1000)
    const { waiting_reason } = upgrade('session', { waiting_reason: `unschedulable: ${'x'.repeat(5_000)}` })
    expect(Reason.parse(waiting_reason).message).toHaveLength(1000)
  })

  it('is not cut inside a character', () => {
    const { reason } = upgrade('license_leak', { reason: `${'x'.repeat(999)}😀` })
    expect(reason).toEqual(text('x'.repeat(999)))
    const { waiting_reason } = upgrade('session', { waiting_reason: `unschedulable: ${'x'.repeat(979)}😀` })
    expect(waiting_reason.message).toBe(`can't be scheduled: ${'x'.repeat(979)}`)
  })

  it('becomes the code for no reason when it is empty', () => {
    expect(upgrade('lab_record', { runs: [{ reason: '' }] }).runs[0].reason.code).toBe('not_given')
  })

  it('keeps the meaning of the words that were codes', () => {
    const worker = { state_history: [{ from: null, because: 'created' }], pause: { by: 'idle', reason: 'idle' } }
    const { state_history, pause } = upgrade('worker', worker)
    expect([state_history[0].because.code, pause.reason.code]).toEqual(['worker_created', 'worker_idle'])
    expect(upgrade('worker', { pause: { by: null, reason: null } }).pause).toEqual({ by: null, reason: null })
  })

  it('is a text also when it has the name of a property that every object has', () => {
    const moves = ['constructor', '__proto__', 'toString'].map(because => ({ from: 'PENDING', because }))
    expect(upgrade('session', { state_history: moves, waiting_reason: null }).state_history).toEqual(
      moves.map(({ because }) => ({ from: 'PENDING', because: text(because) })),
    )
  })

  it('keeps the words of people', () => {
    const words = { desired_reason: 'course next week', drain: { reason: 'patch day' } }
    expect(upgrade('worker', words)).toMatchObject(words)
  })
})

it('flights become purchases', () => {
  const flights = { 'metal/us-east-1': { key: 'k1', count: 1, worker_ids: ['w-1'] } }
  expect(upgrade('fleet_scaling', { flights })).toEqual({ purchases: flights, stop_permits: {} })
})

it.each([
  ['DISCOVERY', 0, null],
  ['DISCOVERY', 4, 4],
  ['SCALE_UP', 0, 0],
])('has no known price of an imported machine, which was 0: %s at %j becomes %j', (origin, before, after) => {
  expect(upgrade('worker', { origin, cost_per_hour_usd: before }).cost_per_hour_usd).toBe(after)
})

describe('a token of 0.1.0', () => {
  it('belongs to a person with the id of its actor, which owns its sessions', () => {
    const token = { id: 'tk-1', name: 'ci', role: 'operator', service: null }
    expect(upgrade('token', token)).toEqual({ ...token, person_id: 'token:tk-1' })
  })

  it('of a controller belongs to no person', () => {
    const token = { id: 'tk-2', name: 'wc', role: 'controller', service: 'worker-controller' }
    expect(upgrade('token', token).person_id).toBeNull()
  })
})

describe('the machine of a worker of 0.1.0', () => {
  const PIN = 'ab'.repeat(32)
  const discovered = {
    origin: 'DISCOVERY',
    launch: null,
    ec2_instance_id: 'i-1',
    public_ip: '203.0.113.7',
    private_ip: '10.0.0.7',
    https_endpoint: 'https://203.0.113.7:8443',
    cml: { version: '2.8', certificate_sha256: PIN },
  }

  it.each<[string, OldBody, string]>([
    ['that LCM launched', { launch: { state: 'launched' } }, 'not_needed'],
    ['that is still to be launched', { ec2_instance_id: null }, 'not_needed'],
    ['that was in use at its public address', {}, 'migrated'],
    ['that was in use at its private address', { https_endpoint: 'https://10.0.0.7' }, 'migrated'],
    ['that was led to another address by a tag', { https_endpoint: 'https://198.51.100.1' }, 'required'],
    ['that was led to another name by a tag', { https_endpoint: 'https://cml.example' }, 'required'],
    ['that was led to a node of a lab by a tag', { https_endpoint: 'https://203.0.113.7:2222' }, 'required'],
    ['whose tag hides the host', { https_endpoint: 'https://203.0.113.7@198.51.100.1' }, 'required'],
    ['that was never contacted', { cml: { version: null, certificate_sha256: null } }, 'required'],
    ['that is stopped', { https_endpoint: null, public_ip: null }, 'required'],
    ['that only its tags assign to the worker', { launch: { state: 'adopted' }, https_endpoint: null }, 'required'],
  ])('%s: %s', (_, more, state) => {
    const { approval, cml } = upgrade('worker', { ...discovered, ...more })
    expect(approval).toEqual({ state, by: null, at: null, fingerprint: null })
    expect(cml.certificate_sha256).toBe(
      state === 'required' ? null : Object({ ...discovered, ...more }.cml).certificate_sha256,
    )
  })

  it('has the trust that the present rules give', () => {
    const now = '2026-01-02T03:04:05.678Z'
    const trusted = (more: OldBody) =>
      isTrusted(Worker.parse(upgrade('worker', { ...blankWorker('w-1', now), ...discovered, ...more })))
    expect(trusted({})).toBe(true)
    expect(trusted({ https_endpoint: 'https://198.51.100.1' })).toBe(false)
  })
})

describe('a FAILED worker of 0.1.0', () => {
  const failed = (reason: string, message: string): Worker => {
    const now = '2026-01-02T03:04:05.678Z'
    const { conditions: _, ...worker } = blankWorker('w-1', now)
    const conditions = [{ type: 'Failed', status: true, reason, message, since: now }]
    const state_history = [{ from: 'STARTING', to: 'FAILED', at: now, because: message }]
    return Worker.parse(upgrade('worker', { ...worker, status: 'FAILED', failures: 1, conditions, state_history }))
  }

  it.each(['timeout', 'InputMissing'])('is still retried after %s', word => {
    expect(retryDueMs(failed(word, 'template metal is disabled'), WORKER_POLICY)).not.toBeNull()
  })

  it('is not retried after a refusal that stays', () => {
    expect(retryDueMs(failed('InvalidAMIID.NotFound', 'EC2 refuses the launch'), WORKER_POLICY)).toBeNull()
  })
})

describe('the waiting reason of a session of 0.1.0', () => {
  const waiting = (waiting_reason: string | null) => upgrade('session', { waiting_reason }).waiting_reason

  it('becomes a text, or stays null', () => {
    expect(waiting('waits for metal-1, which boots')).toEqual(text('waits for metal-1, which boots'))
    expect(waiting(null)).toBeNull()
  })

  it('keeps the meaning that it can never be placed', () => {
    const reason = Reason.parse(waiting('unschedulable: no template can hold it: 150 nodes'))
    expect(unschedulableBecause(reason)).toEqual(text('no template can hold it: 150 nodes'))
    expect(reason.message).toContain('no template can hold it: 150 nodes')
  })
})

describe('a condition of 0.1.0', () => {
  const reasonOf = (reason: string, message: string) =>
    upgrade('worker', { conditions: [{ type: 'A', status: true, reason, message, since: 'then' }] }).conditions[0]

  it('gets one reason for its word and its message', () => {
    expect(reasonOf('NoCapacity', 'no zone has capacity')).toEqual({
      type: 'A',
      status: true,
      reason: text('no zone has capacity'),
      since: 'then',
    })
    expect(reasonOf('Ours', '').reason).toEqual(text('Ours'))
  })

  it('keeps the words that controllers act on', () => {
    expect(reasonOf('timeout', 'STARTING for 30 min').reason).toMatchObject({ code: 'status_timeout' })
    expect(reasonOf('InputMissing', 'template metal is disabled').reason).toMatchObject({
      code: 'launch_input_missing',
      message: 'template metal is disabled',
      params: { cause: text('template metal is disabled') },
    })
    expect(reasonOf('Passed', '').reason.code).toBe('boot_stage_passed')
    expect(reasonOf('Waiting', '').reason.code).toBe('boot_stage_pending')
    expect(reasonOf('Waiting', 'waiting for TLS').reason).toEqual(text('waiting for TLS'))
  })
})
