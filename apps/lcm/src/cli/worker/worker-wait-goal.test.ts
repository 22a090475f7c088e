import { apiClient } from '@lcm/client/client'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import { type Worker, withCondition } from '@lcm/domain/worker/worker'
import { asView } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { RETRY_MS } from '../follow-events.ts'
import { cliApi } from '../testing/in-memory-api.ts'
import { aRunningWorker, aWorker, START_MS } from '../testing/resource-builders.ts'
import { waitFor } from '../wait-for-goal.ts'
import { goalFor, judge, waitedWorker } from './worker-wait-goal.ts'

const failed = (changes: Partial<Worker>) =>
  aWorker({
    status: 'FAILED',
    conditions: withCondition([], { type: 'Failed', status: true, reason: textReason('too slow') }, START_MS),
    ...changes,
  })

describe('judge', () => {
  const verdict = (worker: Worker, start = worker) => judge(worker, goalFor(start)).kind

  it('accepts RUNNING only when CML is ready', () => {
    expect(verdict(aRunningWorker())).toBe('reached')
    expect(verdict(aRunningWorker({ service_status: 'STARTING' }))).toBe('under_way')
  })

  it('fails when the desired status changes', () => {
    const seen = aWorker({ desired_status: 'STOPPED', desired_by: 'eve', desired_reason: 'cost' })
    const because = 'has a new desired status STOPPED, set by eve (cost)'
    expect(judge(seen, goalFor(aWorker()))).toEqual({ kind: 'impossible', because, advice: null })
  })

  it('fails on a new failure', () => {
    expect(judge(failed({}), goalFor(aWorker()))).toEqual({
      kind: 'impossible',
      because: 'has FAILED: too slow',
      advice: null,
    })
    const again = failed({ desired_status: 'TERMINATED', entered_status_at: toInstant(START_MS + 1) })
    expect(verdict(again, failed({ desired_status: 'TERMINATED' }))).toBe('impossible')
  })

  it('ignores an old failure for stop and terminate, but not for start', () => {
    expect(verdict(failed({ desired_status: 'TERMINATED' }))).toBe('under_way')
    expect(verdict(failed({ desired_status: 'STOPPED', ec2_instance_id: 'i-1' }))).toBe('under_way')
    expect(verdict(failed({ desired_status: 'STOPPED' }))).toBe('impossible')
    expect(verdict(failed({ desired_status: 'RUNNING' }))).toBe('impossible')
  })

  it('expects no other status after TERMINATED', () => {
    expect(verdict(aWorker({ status: 'TERMINATED' }))).toBe('impossible')
    expect(verdict(aWorker({ status: 'TERMINATED', desired_status: 'TERMINATED' }))).toBe('reached')
  })

  it('treats a worker that is stopped before its launch as stopped', () => {
    const held = {
      type: 'HeldByIntent',
      status: true,
      reason: textReason('start it to launch it'),
    }
    const conditions = withCondition([], held, START_MS)
    expect(verdict(aWorker({ desired_status: 'STOPPED' }))).toBe('under_way')
    expect(verdict(aWorker({ desired_status: 'STOPPED', conditions }))).toBe('reached')
  })
})

const ID = 'w-0abcdefgh0001'

function waiting(start = aWorker(), timeoutMs = 600_000) {
  const api = cliApi()
  const { clock } = api
  const interrupt = new AbortController()
  const shown: string[] = []
  const progress = { show: (text: string) => shown.push(text), elapsed: () => '', end: () => shown.push('end') }
  api.put(start)
  const client = apiClient(api.dispatch, { token: 'secret' })
  const done = waitFor(waitedWorker(start), { client, clock, signal: interrupt.signal, progress, timeoutMs })
  // A rejection is awaited later; until then it must not count as unhandled.
  done.catch(() => undefined)
  return { api, clock, interrupt, shown, done }
}

describe('waitFor', () => {
  it('shows each stage and ends when the worker is ready', async () => {
    const { api, clock, shown, done } = waiting()
    await api.stream(1)
    api.change(ID, { status: 'PROVISIONING' })
    await clock.advance(0)
    api.change(ID, { status: 'STARTING', conditions: withBoot([], 2, START_MS) })
    await clock.advance(0)
    api.change(ID, { status: 'RUNNING', service_status: 'AVAILABLE' })
    await clock.advance(0)
    expect((await done)?.status).toBe('RUNNING')
    expect(shown).toEqual([
      'metal-1 is PENDING: waiting for launch',
      'metal-1 is PENDING: waiting for launch',
      'metal-1 is PROVISIONING: waiting for EC2 to report the instance as running',
      'metal-1 is STARTING: waiting for the CML web server to speak TLS',
      'end',
    ])
  })

  it('makes no request when the worker is already ready', async () => {
    const { api, done } = waiting(aRunningWorker())
    expect((await done)?.status).toBe('RUNNING')
    expect(api.requests()).toEqual([])
  })

  it('ends with the reason when the worker fails', async () => {
    const { api, done } = waiting()
    await api.stream(1)
    api.change(ID, failed({}))
    await expect(done).rejects.toMatchObject({
      exitCode: 1,
      message: 'metal-1 has FAILED: too slow',
      advice: `run \`lcm describe worker ${ID}\` for details`,
    })
  })

  it('continues across a restart of the API without missing a change', async () => {
    const { api, clock, shown, done } = waiting()
    await api.stream(1)
    api.crash()
    await clock.advance(3 * RETRY_MS)
    expect(shown.at(-1)).toBe('API unreachable, retrying')
    api.change(ID, aRunningWorker())
    api.restart()
    await clock.advance(RETRY_MS)
    expect((await done)?.status).toBe('RUNNING')
  })

  it('starts even if the API is unreachable right after the command', async () => {
    const start = aWorker()
    const { api, clock, done } = waiting(start)
    api.crash()
    await clock.advance(RETRY_MS)
    api.restart()
    api.change(ID, aRunningWorker())
    await clock.advance(RETRY_MS)
    expect((await done)?.status).toBe('RUNNING')
  })

  it('polls while streams are refused', async () => {
    const { api, clock, shown, done } = waiting()
    await api.stream(1)
    api.refuseStreams()
    await clock.advance(RETRY_MS)
    api.change(ID, aRunningWorker())
    await clock.advance(RETRY_MS)
    expect((await done)?.status).toBe('RUNNING')
    expect(shown).not.toContain('API unreachable, retrying')
  })

  it('ignores older versions', async () => {
    const { api, clock, shown, done, interrupt } = waiting(aWorker({ status: 'PROVISIONING', version: 5 }))
    await api.stream(1)
    const older = asView(aWorker({ status: 'PENDING', version: 3 }))
    api.plane.say({ type: 'worker.updated', id: ID, version: 3, at: older.updated_at, data: older })
    await clock.advance(0)
    interrupt.abort()
    await expect(done).rejects.toThrow()
    expect(shown.filter(text => text.includes('PENDING'))).toEqual([])
  })

  it('treats a deleted record as success for terminate, and as a failure otherwise', async () => {
    const end = waiting(aWorker({ desired_status: 'TERMINATED' }))
    await end.api.stream(1)
    end.api.remove(ID)
    expect(await end.done).toBeNull()
    const other = waiting()
    await other.api.stream(1)
    other.api.remove(ID)
    await expect(other.done).rejects.toMatchObject({ exitCode: 1, message: expect.stringContaining('was deleted') })
  })

  it('ends at the timeout with the current status', async () => {
    const { api, clock, done } = waiting(aWorker(), 90_000)
    await api.stream(1)
    await clock.advance(90_000)
    await expect(done).rejects.toMatchObject({
      exitCode: 1,
      message: 'timed out after 1m30s: metal-1 is PENDING: waiting for launch',
      advice: expect.stringMatching(/^it continues/),
    })
  })

  it('ends as unreachable when the API does not respond until the timeout', async () => {
    const { api, clock, done } = waiting(aWorker(), 90_000)
    api.crash()
    await clock.advance(90_000)
    await expect(done).rejects.toMatchObject({ exitCode: 6 })
  })

  it('ends at once when the user interrupts, and leaves no timer behind', async () => {
    const { api, clock, interrupt, done } = waiting()
    await api.stream(1)
    interrupt.abort()
    await expect(done).rejects.toMatchObject({ exitCode: 130 })
    const before = api.requests().length
    await clock.advance(3_600_000)
    expect(api.requests().length).toBe(before)
  })
})
