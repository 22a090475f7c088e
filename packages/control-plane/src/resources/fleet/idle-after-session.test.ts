import { toInstant } from '@lcm/domain/instant'
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
