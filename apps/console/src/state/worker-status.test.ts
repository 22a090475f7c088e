import { textReason } from '@lcm/domain/reason'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { desiredStatusOf, differingDesired, historyOf, statusNote } from './worker-status.ts'

const THEN = '2026-01-02T03:04:05.000Z'

describe('the desired status of a worker', () => {
  it('is the status after the drain while the worker drains', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const drain = { requested_at: THEN, by: 'ann', reason: '', then: 'STOPPED' as const, deadline: THEN }
    const draining = aWorker({ status: 'DRAINING', desired_status: 'RUNNING', drain })
    expect([desiredStatusOf(draining), differingDesired(draining)]).toEqual(['STOPPED', 'STOPPED'])
    const running = aWorker({ status: 'RUNNING', desired_status: 'RUNNING', drain })
    expect([desiredStatusOf(running), differingDesired(running)]).toEqual(['RUNNING', null])
  })
})

describe('a worker in one line', () => {
  const because = (at: string, text: string) => ({ from: null, to: 'STOPPED' as const, at, because: textReason(text) })

  it('is its newest reason', () => {
    const state_history = [because('2026-01-02T03:04:05.000Z', 'old'), because('2026-01-02T03:04:06.000Z', 'new')]
    const worker = aWorker({ status: 'STOPPED', state_history })
    expect(historyOf(worker).map(change => change.because.message)).toEqual(['new', 'old'])
    expect(statusNote(worker)).toBe('new')
  })

  it('is its newest reason even after a clock was set back or with equal times', () => {
    const times = ['2026-01-02T04:00:00.000Z', '2026-01-02T03:00:00.000Z', '2026-01-02T03:00:00.000Z']
    const state_history = times.map((at, index) => because(at, String(index)))
    expect(historyOf(aWorker({ state_history })).map(change => change.because.message)).toEqual(['2', '1', '0'])
  })

  it('is the refusal of the cloud while it waits for a machine', () => {
    expect(statusNote(aWorker({ launch: anAttempt({ error: 'no capacity' }) }))).toBe('no capacity')
  })

  it('is its service and version while it runs', () => {
    const cml = { ...aWorker().cml, version: '2.8.1+build.7' }
    expect(statusNote(aWorker({ status: 'RUNNING', service_status: 'AVAILABLE', cml }))).toBe('CML is available, 2.8.1')
  })
})
