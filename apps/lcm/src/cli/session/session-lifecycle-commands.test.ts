import { LAB_STOPPED, type Pipeline, UNTOUCHED } from '@lcm/domain/session/lablet-session'
import { PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, anInstantiatingSession, aReadySession, aSession } from '../testing/resource-builders.ts'

function course(session = aReadySession()) {
  const captured = capturedShell()
  const { sessions } = captured.api
  sessions.put(session)
  captured.api.definitions.put(aDefinition({ max_duration_minutes: 300 }))
  return { ...captured, sessions, lcm: (...args: string[]) => run(args, captured.shell) }
}

describe('cancel', () => {
  it('requests the cancellation', async () => {
    const { lcm, api, out } = course()
    expect(await lcm('cancel', 'session', 'ls-1')).toBe(0)
    expect(api.requests().at(-1)).toBe('DELETE /lablet-sessions/ls-1')
    expect(out()).toBe('session ls-1 is canceled; its lab is being removed\n')
  })

  it('waits until its lab is gone', async () => {
    const { lcm, api, sessions, out, err } = course(aReadySession({ status: 'RUNNING' }))
    const done = lcm('cancel', 'session', 'ls-1', '--wait')
    await api.stream(1)
    sessions.change('ls-1', { status: 'STOPPING' })
    sessions.change('ls-1', { status: 'TERMINATED' })
    expect(await done).toBe(0)
    expect(err()).toContain('session ls-1 is RUNNING and will be TERMINATED\n')
    expect(out()).toBe('session ls-1 is TERMINATED after 0s\n')
  })

  it('reports a session that is already over, and exits with 3 for an unknown one', async () => {
    const { lcm, out } = course(aSession({ status: 'ARCHIVED' }))
    expect(await lcm('cancel', 'session', 'ls-1')).toBe(0)
    expect(out()).toBe('session ls-1 is already ARCHIVED\n')
    expect(await lcm('cancel', 'session', 'ls-2')).toBe(3)
  })
})

describe('extend', () => {
  it('extends the slot', async () => {
    const { lcm, api, out } = course()
    expect(await lcm('extend', 'session', 'ls-1', '--minutes', '30')).toBe(0)
    expect(api.bodies()).toEqual([{ minutes: 30 }])
    expect(out()).toBe('session ls-1 now ends at 2026-01-01T01:30:00.000Z, in 1h30m\n')
    expect(await lcm('extend', 'session', 'ls-1', '--minutes', '1', '-o', 'json')).toBe(0)
  })

  it('exits with 4 when it is over, with 2 without a number of minutes', async () => {
    const { lcm, err } = course(aSession({ status: 'ARCHIVED' }))
    expect(await lcm('extend', 'session', 'ls-1', '--minutes', '30')).toBe(4)
    expect(err()).toBe('error: the session is ARCHIVED; book another session\n')
    expect(await lcm('extend', 'session', 'ls-1')).toBe(2)
    expect(await lcm('extend', 'session', 'ls-1', '--minutes', '1441')).toBe(2)
  })
})

describe('retry', () => {
  it('starts the lab again and waits for it', async () => {
    const { lcm, api, sessions, err, outLines } = course(
      anInstantiatingSession(1, { last_error: 'tags: CML refused it' }),
    )
    const done = lcm('retry', 'session', 'ls-1', '--reason', 'CML is back', '--wait')
    await api.stream(1)
    sessions.change('ls-1', { status: 'READY', access: aReadySession().access, pipeline: completedPipeline() })
    expect(await done).toBe(0)
    expect(api.bodies()).toEqual([{ reason: 'CML is back' }])
    expect(err()).toContain('the lab of session ls-1 will be started again, attempt 2')
    expect(outLines().at(-1)).toContain('203.0.113.7:2001')
  })

  it('starts a stopped lab again, and waits until it runs', async () => {
    const message = 'a person stopped it'
    const stopped = {
      type: LAB_STOPPED,
      status: true,
      reason: { code: 'stopped', message: message, params: {} },
      since: aSession().created_at,
    }
    const pipeline = completedPipeline()
    const running = aReadySession({ status: 'RUNNING', conditions: [stopped], pipeline })
    const { lcm, api, sessions, err, out } = course(running)
    const done = lcm('retry', 'session', 'ls-1', '--wait')
    await api.stream(1)
    expect(err()).toContain('will be restarted; the data on its nodes is kept')
    expect(out()).toBe('')
    sessions.change('ls-1', { pipeline: { ...pipeline, attempt: 2 } })
    expect(await done).toBe(0)
    expect(out()).toContain('session ls-1 is RUNNING')
  })

  it('requests a new check of a waiting session', async () => {
    const { lcm, out } = course(aSession())
    expect(await lcm('retry', 'session', 'ls-1')).toBe(0)
    expect(out()).toBe('session ls-1 will be retried; it is waiting for placement\n')
  })

  it('exits with 4 and gives advice when there is nothing to retry', async () => {
    const { lcm, err } = course(aSession({ status: 'ARCHIVED' }))
    expect(await lcm('retry', 'session', 'ls-1')).toBe(4)
    expect(err()).toBe('error: the session is ARCHIVED; book another session\n')
    expect(await lcm('retry', 'session', 'ls-2')).toBe(3)
  })
})

describe('requeue', () => {
  it('returns the session to the queue', async () => {
    const { lcm, api, out } = course(aSession({ status: 'SCHEDULED', worker_id: 'w-1' }))
    expect(await lcm('requeue', 'session', 'ls-1', '--reason', 'too small')).toBe(0)
    expect(api.requests().at(-1)).toBe('POST /lablet-sessions/ls-1/requeue')
    expect(api.bodies()).toEqual([{ reason: 'too small' }])
    expect(out()).toBe('session ls-1 is queued for a new placement; it is PENDING now\n')
  })

  it('exits with 4 when the session has a lab, with 3 for an unknown session', async () => {
    const { lcm } = course()
    expect(await lcm('requeue', 'session', 'ls-1')).toBe(4)
    expect(await lcm('requeue', 'session', 'ls-2')).toBe(3)
  })
})

const completedPipeline = (): Pipeline => ({
  name: 'instantiate',
  attempt: 1,
  steps: Object.fromEntries(
    PIPELINE_STEPS.instantiate.map(({ name }) => [name, { ...UNTOUCHED, status: 'completed' as const }]),
  ),
})
