import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

const MINUTE_MS = 60_000

let course: Course
beforeEach(() => {
  course = aCourse()
})

const inMs = (ms: number) => toInstant(course.clock.now() + ms)
const check = async (id: string, lab_events: readonly object[]) => {
  const evidence = { last_activity_at: null, running_nodes: 0, lab_events }
  return (await course.fenced('POST', `workers/${id}/idle-checks`, { evidence })).json
}

/** A worker with a session on it whose lab runs. */
async function inUse() {
  const { id: worker } = await course.serving()
  const { id } = await course.placed(worker, 'INSTANTIATING')
  const lab: string = (await course.bind(id, { lab_id: 'lab-1' })).json.id
  await course.reportLab(lab, { status: 'BOOTED' })
  for (const status of ['READY', 'RUNNING']) await course.reportSession(id, { status })
  return { worker, id, lab }
}

describe('the idle time of a worker', () => {
  it('begins when its session ends, not when the lab of the session is removed', async () => {
    await course.send('PATCH', 'settings', { json: { idle_action: 'pause' } })
    const { worker, id, lab } = await inUse()
    await course.clock.advance(20 * MINUTE_MS)
    const end = inMs(0)
    await course.reportSession(id, { status: 'STOPPING' })
    await course.clock.advance(5 * MINUTE_MS)
    const wiped = inMs(-1_000)
    await course.reportLab(lab, { status: 'DELETED' })
    await course.release(id)
    expect((await course.get(worker)).activity).toMatchObject({
      last_activity_at: end,
      sessions_until: inMs(0),
      recent_events: [{ at: end, category: 'session_end', detail: id }],
    })
    await course.clock.advance(55 * MINUTE_MS - 1_000)
    const events = [{ lab_id: 'lab-1', at: wiped, category: 'wipe_node' }]
    expect(await check(worker, events)).toMatchObject({ verdict: 'skipped_not_idle' })
    await course.clock.advance(1_000)
    const { verdict, worker: paused } = await check(worker, events)
    expect(verdict).toBe('pause')
    expect(paused.activity).toMatchObject({ last_activity_at: end, idle_since: end })
  })

  it('starts again when a person starts nodes', async () => {
    const { worker, id } = await inUse()
    await course.scan(worker, [{ lab_id: 'lab-2' }])
    const at = inMs(0)
    await course.reportSession(id, { status: 'STOPPING' })
    await course.clock.advance(5 * MINUTE_MS)
    const booted = inMs(0)
    await check(worker, [
      { lab_id: 'lab-2', at: booted, category: 'boot_node' },
      { lab_id: 'lab-1', at: inMs(30_000), category: 'wipe_node' },
    ])
    const { activity } = await course.get(worker)
    expect(activity.last_activity_at).toBe(booted)
    expect(activity.recent_events).toEqual([{ at: booted, category: 'boot_node', detail: 'lab lab-2' }])
    expect(at < booted).toBe(true)
  })
})

describe('by the calendar, a worker whose last session was released', () => {
  const BECAUSE = reason('no_capacity_for_sessions', { sessions: 8 })
  const as = { by: 'resource-scheduler' } as const

  async function released() {
    const { worker, id, lab } = await inUse()
    await course.reportSession(id, { status: 'STOPPING' })
    await course.clock.advance(MINUTE_MS)
    await course.reportLab(lab, { status: 'DELETED' })
    await course.release(id)
    await course.edit(worker, () => ({ origin: 'SCALE_UP' }))
    return worker
  }

  /** The plan of a leader that completes its cycles. */
  async function planned(worker: string, kind: 'stop' | 'stay', because: Reason = BECAUSE) {
    const step = { kind, at: inMs(-1_000), because, usd: 0, session_ids: [] }
    const machine = { key: worker, worker_id: worker, template_name: 'metal', session_ids: [], steps: [step] }
    const nothing = { machines: 0, steps: 0, session_ids: 0, unplaced: 0 }
    const plan = { at: inMs(0), until: inMs(1), machines: [machine], unplaced: [], usd: 0, left_out: nothing }
    await course.fenced('PUT', 'plan', plan, as)
    await beat()
  }
  const beat = () =>
    course.send('PUT', 'services/resource-scheduler/instances/one', {
      headers: course.asService('resource-scheduler'),
      json: {
        ...{ is_leader: true, epoch: 1, since: null, software: '1', queue: { due: 0, active: 0 }, retries: 0 },
        ...{ watch: { healthy: true, age_seconds: 0 }, last_sweep: null, plan: [] },
      },
    })

  it('is stopped at once when the plan says so', async () => {
    const worker = await released()
    await planned(worker, 'stop')
    const answer = await check(worker, [])
    expect(answer).toMatchObject({ verdict: 'pause', because: BECAUSE })
    expect(answer.worker).toMatchObject({
      desired_status: 'STOPPED',
      desired_by: 'idle',
      desired_reason: BECAUSE.message,
    })
  })

  it('stays while the plan says so', async () => {
    const worker = await released()
    await planned(worker, 'stay')
    await course.clock.advance(25 * MINUTE_MS)
    await beat()
    expect(await check(worker, [])).toMatchObject({ verdict: 'skipped_not_idle', because: BECAUSE })
  })

  it('stays for its next session also while the leader of the scheduler changes', async () => {
    const worker = await released()
    await planned(worker, 'stay')
    await course.clock.advance(25 * MINUTE_MS)
    expect(await check(worker, [])).toMatchObject({ verdict: 'skipped_not_idle', because: BECAUSE })
  })

  it('waits as long as a start takes when no scheduler stands behind the plan', async () => {
    const worker = await released()
    await planned(worker, 'stop')
    await course.clock.advance(MINUTE_MS)
    expect(await check(worker, [])).toMatchObject({ verdict: 'skipped_not_idle', because: { code: 'not_idle' } })
    await course.clock.advance(8 * MINUTE_MS + 1_000)
    expect(await check(worker, [])).toMatchObject({ verdict: 'pause', because: { code: 'idle_without_plan' } })
  })

  it('follows the timeout where one was set and no action', async () => {
    const worker = await released()
    await course.send('PATCH', 'settings', { json: { idle_timeout_seconds: 1200 } })
    await planned(worker, 'stop')
    expect(await check(worker, [])).toMatchObject({ verdict: 'skipped_not_idle', because: { code: 'not_idle' } })
    await course.send('PATCH', 'settings', { json: { idle_action: 'calendar' } })
    expect(await check(worker, [])).toMatchObject({ verdict: 'pause', because: BECAUSE })
  })
})
