import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../../instant.ts'
import { withBoot } from '../boot-stages.ts'
import { decideWorker } from '../decide.ts'
import { WORKER_POLICY } from '../observation.ts'
import type { Worker } from '../worker.ts'
import type { Drain } from '../worker-field-schemas.ts'

const ENTERED = aWorker().entered_status_at
const NOW = toMs(ENTERED) + 60_000
const drainTo = (next: Drain['then'], leftMs: number): Drain => ({
  requested_at: ENTERED,
  by: 'ann',
  reason: 'maintenance',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: next,
  deadline: toInstant(NOW + leftMs),
})
const SESSION = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(ENTERED) }
const worker = (more: Partial<Worker>): Worker =>
  onMachine({ status: 'DRAINING', service_status: 'AVAILABLE', ...more })
const decide = (drained: Worker, state = 'running') =>
  decideWorker(drained, anObservation({ ec2: anEc2Observation({ state }), isSurveyDue: true }), WORKER_POLICY, NOW)

describe('a drain', () => {
  it('is announced by the status before any other check', () => {
    expect(decide(worker({ status: 'RUNNING', drain: drainTo('STOPPED', 1) }))).toMatchObject({
      because: { code: 'drain_requested', params: { by: 'ann' } },
      action: { changes: { status: 'DRAINING' } },
    })
  })

  it('sets AVAILABLE when CML is ready again, and probes it often until then', () => {
    const silent = worker({
      drain: drainTo('STOPPED', 600_000),
      reservations: { s1: SESSION },
      service_status: 'UNAVAILABLE',
    })
    const cml = { stage: 'READY', ready_streak: 3, version: null, certificate_sha256: null, detail: '' } as const
    const seeing = (ready_streak: number) => anObservation({ cml: { ...cml, ready_streak } })
    const back = decideWorker(silent, seeing(3), WORKER_POLICY, NOW)
    expect(back.action).toMatchObject({ changes: { service_status: 'AVAILABLE' } })
    const nearly = { ...silent, cml: { ...silent.cml, ready: true }, conditions: withBoot([], 6, NOW) }
    const waiting = decideWorker(nearly, seeing(1), WORKER_POLICY, NOW)
    expect(waiting.action).toEqual({ kind: 'wait', afterMs: WORKER_POLICY.probeIntervalMs })
    expect(waiting.because.code).toBe('drain_waiting')
  })

  it('waits for sessions; the reason has their count and the time left', () => {
    const decision = decide(worker({ drain: drainTo('STOPPED', 600_000), reservations: { s1: SESSION } }))
    expect(decision.action).toEqual({ kind: 'wait', afterMs: 30_000 })
    expect(decision.because).toMatchObject({ code: 'drain_waiting', params: { sessions: 1, minutes_left: 10 } })
    expect(decision.guards.map(({ name, passed }) => [name, passed])).toEqual([
      ['sessions', false],
      ['drain_seconds_left', false],
    ])
  })

  it.each([
    ['STOPPED', 'STOPPING'],
    ['TERMINATED', 'TERMINATING'],
  ] as const)('continues to the requested status, %s, when the last session is gone', (then, status) => {
    const decision = decide(worker({ drain: drainTo(then, 600_000) }))
    expect(decision.action).toMatchObject({ changes: { status } })
    expect(decision.because).toMatchObject({ code: 'drain_completed', params: { by: 'ann', is_protected: false } })
  })

  it('only stops a worker that was protected after the request to terminate it', () => {
    const decision = decide(worker({ drain: drainTo('TERMINATED', 600_000), protected: true }))
    expect(decision.action).toMatchObject({ changes: { status: 'STOPPING' } })
    expect(decision.because).toMatchObject({ code: 'drain_completed', params: { by: 'ann', is_protected: true } })
  })

  it('does not wait forever', () => {
    const decision = decide(worker({ drain: drainTo('STOPPED', 0), reservations: { s1: SESSION } }))
    expect(decision.action).toMatchObject({ changes: { status: 'STOPPING' } })
    expect(decision.because).toMatchObject({ code: 'drain_timeout', params: { sessions: 1, is_protected: false } })
  })

  it('can be canceled', () => {
    expect(decide(worker({ drain: null }))).toMatchObject({
      because: { code: 'drain_canceled' },
      action: { changes: { status: 'RUNNING' } },
    })
  })

  it('ends when its instance stops', () => {
    expect(decide(worker({ drain: drainTo('STOPPED', 600_000) }), 'stopped').action).toMatchObject({
      changes: { status: 'STOPPED' },
    })
  })
})
