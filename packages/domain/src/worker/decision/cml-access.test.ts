import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { reason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { CML_PARTS, type CmlAccess, type Observation, WORKER_POLICY } from '../observation.ts'
import type { Condition, Worker } from '../worker.ts'
import { accessAdvice, CML_REASONS } from './cml-access.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const now = ENTERED + 10 * 60_000
const sinceMs = ENTERED + 60_000
const REFUSED = { message: 'Authentication failed!', sinceMs }
const OTHER: Condition = {
  type: 'Overdue',
  status: true,
  reason: reason('termination_overdue', { minutes: 20 }),
  since: toInstant(ENTERED),
}

const decide = (worker: Worker, access: CmlAccess, more: Partial<Observation> = {}) =>
  decideWorker(worker, anObservation({ access, ...more }), WORKER_POLICY, now)

function conditionIn(access: CmlAccess, worker = onMachine({ conditions: [OTHER] })): Condition {
  const { action } = decide(worker, access)
  const condition = action.kind === 'write' ? action.changes.conditions?.at(-1) : undefined
  if (condition === undefined) throw new Error(`decided ${action.kind}`)
  return condition
}

describe('a CML that refuses what LCM needs', () => {
  it('is a condition, with since when and the effect', () => {
    const worker = onMachine({ conditions: [OTHER] })
    expect(conditionIn({ credentials: 'accepted', login: REFUSED })).toEqual({
      type: 'CmlAccessRefused',
      status: true,
      reason: reason('cml_login_refused', {
        worker_id: worker.id,
        error: 'Authentication failed!',
      }),
      since: toInstant(sinceMs),
    })
    expect(decide(worker, { login: REFUSED }).because.code).toBe('cml_login_refused')
  })

  it.each([
    ['credentials', 'cml_credentials_missing', null],
    ['login', 'cml_login_refused', REFUSED.message],
    ['telemetry', 'cml_telemetry_refused', REFUSED.message],
    ['telemetry_off', 'cml_telemetry_off', null],
    ['system_stats', 'cml_system_stats_refused', REFUSED.message],
    ['system_health', 'cml_system_health_refused', REFUSED.message],
    ['node_definitions', 'cml_node_definitions_refused', REFUSED.message],
    ['licensing', 'cml_licensing_refused', REFUSED.message],
  ] as const)('%s is %s, and comes before all parts that matter less', (part, code, error) => {
    const lesser = CML_PARTS.slice(CML_PARTS.indexOf(part))
    const condition = conditionIn(Object.fromEntries(lesser.map(each => [each, REFUSED])))
    expect(condition.reason).toMatchObject({ code, params: { worker_id: 'w-1', error } })
  })

  it('is one condition, whatever the message of CML: later checks still run', () => {
    const reported = onMachine({ conditions: [conditionIn({ login: REFUSED })] })
    const again = { login: { message: 'Authentication failed at 12:01', sinceMs: sinceMs + 1 } }
    expect(decide(reported, again).action.kind).toBe('nothing')
    expect(decide(reported, again, { isSurveyDue: true }).action.kind).toBe('survey')
  })

  it('stays a condition until CML accepts that very part: neither silence nor another part removes it', () => {
    const reported = onMachine({ conditions: [OTHER, conditionIn({ telemetry: REFUSED })] })
    for (const access of [{}, { login: 'accepted' }, { login: 'accepted', system_stats: 'accepted' }] as const)
      expect(decide(reported, access).action.kind).toBe('nothing')
    expect(decide(reported, { licensing: REFUSED }).action.kind).toBe('nothing')
    expect(decide(reported, { telemetry: 'accepted' })).toMatchObject({
      because: { code: 'cml_access_restored' },
      action: { changes: { conditions: [OTHER] } },
    })
  })

  it('gets another reason when the first one is over', () => {
    const reported = onMachine({ conditions: [conditionIn({ login: REFUSED })] })
    expect(conditionIn({ login: 'accepted', telemetry: REFUSED }, reported).reason.code).toBe('cml_telemetry_refused')
  })

  it('is no condition where CML does not run', () => {
    const reported = [OTHER, conditionIn({ login: REFUSED })]
    const stopping = onMachine({ conditions: reported, desired_status: 'STOPPED' })
    expect(decide(stopping, { login: REFUSED }).action).toMatchObject({
      changes: { status: 'STOPPING', conditions: [OTHER] },
    })
  })

  it('comes after drift', () => {
    const moved = anEc2Observation({ public_ip: '127.64.0.9' })
    expect(decide(onMachine(), { login: REFUSED }, { ec2: moved }).because).toMatchObject({
      code: 'ec2_facts_changed',
      params: { fields: ['public_ip', 'https_endpoint'] },
    })
  })
})

describe('the advice', () => {
  const advice = (part: keyof typeof CML_REASONS, worker?: string) =>
    accessAdvice(
      reason(CML_REASONS[part], { worker_id: 'w-1', error: null }),
      ...(worker === undefined ? [] : [worker]),
    )

  it.each([
    ['credentials', 'set the CML account with `lcm set credentials w-1`'],
    ['login', 'set the right CML account with `lcm set credentials w-1`, or correct CML_DEFAULT_PASSWORD'],
    ['telemetry_off', 'turn on telemetry in CML, or turn off idle detection for this worker'],
    ['licensing', 'give the CML account of LCM admin rights, or set another one with `lcm set credentials w-1`'],
  ] as const)('for %s: %s', (part, expected) => {
    expect(advice(part)).toBe(expected)
  })

  it('names the worker as the reader does', () => {
    expect(advice('credentials', 'metal-1')).toBe('set the CML account with `lcm set credentials metal-1`')
  })

  it('is null for other reasons', () => {
    expect(accessAdvice(reason('metrics_stale'))).toBeNull()
  })
})
