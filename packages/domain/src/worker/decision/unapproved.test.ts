import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../../instant.ts'
import { decideWorker } from '../decide.ts'
import type { EC2_STATES } from '../ec2-instance.ts'
import { consequenceOf } from '../lifecycle.ts'
import { type CmlObservation, WORKER_POLICY } from '../observation.ts'
import { CONDITION, type Worker, withChanges } from '../worker.ts'
import { NOT_NEEDED } from '../worker-field-schemas.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const HOUR_MS = 3_600_000
const [PINNED, OTHER] = ['aa'.repeat(32), 'bb'.repeat(32)]

const cmlWith = (certificate_sha256: string | null, more: Partial<CmlObservation> = {}): CmlObservation => ({
  stage: 'READY',
  ready_streak: WORKER_POLICY.readyAnswers,
  version: '2.9.1',
  certificate_sha256,
  detail: '',
  ...more,
})
const decide = (
  worker: Worker,
  cml: CmlObservation | null,
  { state = 'running', afterMs = 60_000 }: { state?: (typeof EC2_STATES)[number]; afterMs?: number } = {},
) => decideWorker(worker, anObservation({ cml, ec2: anEc2Observation({ state }) }), WORKER_POLICY, ENTERED + afterMs)

/** The worker after all writes that follow from this observation, and the action after them. */
function settled(worker: Worker, ...seen: Parameters<typeof decide> extends [Worker, ...infer More] ? More : never) {
  let current = worker
  for (let n = 0; n < 10; n += 1) {
    const { action, because } = decide(current, ...seen)
    if (action.kind !== 'write') return { worker: current, action, because }
    current = withChanges(current, action.changes)
  }
  throw new Error('it never rests')
}

const found = (more: Partial<Worker> = {}): Worker =>
  onMachine({ origin: 'DISCOVERY', launch: null, approval: { ...NOT_NEEDED, state: 'required' }, ...more })

describe('a running machine that needs an approval', () => {
  it.each(['STARTING', 'RUNNING', 'FAILED'] as const)('is RUNNING and serves nothing, from %s', status => {
    const { worker, action, because } = settled(found({ status }), cmlWith(OTHER))
    expect(worker).toMatchObject({
      status: 'RUNNING',
      service_status: 'UNAVAILABLE',
      cml: { version: '2.9.1', certificate_sha256: null, seen_certificate_sha256: OTHER, ready: null },
    })
    expect([action.kind, because.code]).toEqual(['nothing', 'approval_required'])
  })

  it('never fails, however long its CML is silent', () => {
    const { worker } = settled(found({ status: 'STARTING' }), cmlWith(null, { stage: 'NOTHING' }), { afterMs: HOUR_MS })
    expect(worker.status).toBe('RUNNING')
    const provisioning = decide(found({ status: 'PROVISIONING' }), null, { state: 'pending', afterMs: HOUR_MS })
    expect(provisioning.action.kind).toBe('wait')
  })

  it('is pinned, and serves, once it is approved', () => {
    const { worker } = settled(found(), cmlWith(OTHER))
    const approval = { state: 'approved', by: 'ann', at: toInstant(ENTERED), fingerprint: null } as const
    expect(settled({ ...worker, approval }, cmlWith(OTHER)).worker).toMatchObject({
      service_status: 'AVAILABLE',
      cml: { certificate_sha256: OTHER, seen_certificate_sha256: null },
    })
  })

  const report = (before: Worker, status: Worker['status']) =>
    consequenceOf(before, { ...before, status }, { external_stop: 'restart' }, toInstant(ENTERED))?.worker
      .desired_status

  it('is left to its owner, who stops and starts it', () => {
    expect(report(found(), 'STOPPED')).toBe('STOPPED')
    expect(report(found({ status: 'STOPPED', desired_status: 'STOPPED' }), 'RUNNING')).toBe('RUNNING')
    expect(report(onMachine(), 'STOPPED')).toBe('RUNNING')
    expect(report(onMachine({ status: 'STOPPED', desired_status: 'STOPPED' }), 'RUNNING')).toBe('STOPPED')
  })
})

describe('a CML that shows another certificate than the pinned one', () => {
  const pinned = (more: Partial<Worker> = {}) =>
    onMachine({ cml: { ...aWorker().cml, version: '2.9.1', ready: true, certificate_sha256: PINNED }, ...more })

  it.each(['STARTING', 'RUNNING', 'DRAINING'] as const)('is UNAVAILABLE with the reason, from %s', status => {
    const drain = { ...aDrain(), deadline: toInstant(ENTERED + HOUR_MS) }
    const before = pinned({ status, ...(status === 'DRAINING' ? { drain, reservations: { s: RESERVED } } : {}) })
    const { worker } = settled(before, cmlWith(OTHER, { stage: 'TLS', version: null }), { afterMs: HOUR_MS - 1 })
    expect(worker).toMatchObject({
      status: status === 'STARTING' ? 'RUNNING' : status,
      service_status: 'UNAVAILABLE',
      cml: { certificate_sha256: PINNED, seen_certificate_sha256: OTHER },
    })
    const condition = worker.conditions.find(({ type }) => type === CONDITION.certificateChanged)
    expect(condition).toMatchObject({ status: true, reason: { params: { pinned: PINNED, seen: OTHER } } })
  })

  it('does not serve although an answer from before the pin says that it is ready', () => {
    expect(settled(pinned(), cmlWith(OTHER)).worker.service_status).toBe('UNAVAILABLE')
  })

  it('serves again with the pinned certificate, and the condition ends', () => {
    const { worker } = settled(pinned(), cmlWith(OTHER, { stage: 'TLS' }))
    const restored = settled(worker, cmlWith(PINNED)).worker
    expect(restored).toMatchObject({ service_status: 'AVAILABLE', cml: { seen_certificate_sha256: null } })
    expect(restored.conditions.map(({ type }) => type)).not.toContain(CONDITION.certificateChanged)
  })

  it('is no change when only its address is another one', () => {
    const moved = settled(pinned({ public_ip: '203.0.113.9', https_endpoint: 'https://203.0.113.9' }), cmlWith(PINNED))
    expect(moved.worker).toMatchObject({ service_status: 'AVAILABLE', https_endpoint: 'https://127.64.0.1' })
  })
})

const RESERVED = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(aWorker().created_at) }
const aDrain = () => ({
  requested_at: aWorker().created_at,
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED' as const,
})
