import { textReason } from '@lcm/domain/reason'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

const HOUR_MS = 3_600_000

let course: Course
beforeEach(async () => {
  course = aCourse()
  await course.send('POST', 'worker-templates', { json: { ...METAL, root_volume_gb: 8 } })
  await course.define({ max_duration_minutes: 180 })
})

const set = (json: object) => course.send('PATCH', 'settings', { json })
const sessions = async (count: number, minutes = 118) => {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1)
    ids.push((await course.book({ duration_minutes: minutes, best_effort: true }, 'admin')).id)
  return ids
}
const buy = (key: string, session_ids: readonly string[], more: object = {}) =>
  course.fenced(
    'POST',
    'workers/scale-up',
    { template_name: 'metal', aws_region: 'us-east-1', count: 1, session_ids, key, group: key, ...more },
    { by: 'resource-scheduler' },
  )
const resume = (id: string, session_ids: readonly string[]) =>
  course.fenced(
    'POST',
    `workers/${id}/resume`,
    { session_ids, reason: textReason('they wait') },
    { by: 'resource-scheduler' },
  )
/** Stopped by the idle policy. */
const paused = async () => {
  const { id } = await course.running()
  await course.edit(id, worker => ({
    desired_status: 'STOPPED',
    status: 'STOPPED',
    billing: { since: null, cause: null, closed_usd: 0 },
    pause: { ...worker.pause, reason: textReason('idle'), by: 'idle' },
  }))
  return id
}
const workers = async (): Promise<{ id: string }[]> => (await course.send('GET', 'workers')).json.items
/** Each machine of 4 USD runs for two hours; its disk costs a few cents. */
const TWO_MACHINES = 16.5

describe('a budget', () => {
  it('is off by default', async () => {
    const { json } = await course.send('GET', 'settings')
    expect(json.settings.budget_usd_per_day).toEqual({ value: 'off', source: 'default' })
    expect((await buy('k', await sessions(1), { count: 9 })).json.workers).toHaveLength(9)
    expect((await course.scaling())?.commitments).toEqual({})
  })

  it.each([
    ['budget_usd_per_day', TWO_MACHINES, 8.02],
    ['budget_usd_per_month', 17.5, 8.65],
  ])('allows purchases up to %s', async (name, limit, needed_usd) => {
    await set({ [name]: limit })
    const ids = await sessions(3)
    expect((await buy('k1', ids)).status).toBe(201)
    expect((await buy('k2', ids)).status).toBe(201)
    const refused = await buy('k3', ids)
    expect(refused).toMatchObject({
      status: 409,
      json: { code: 'scale_up_rejected', reason: { code: 'budget_exceeded' } },
    })
    expect(refused.json.reason.params).toMatchObject({ limit, spent_usd: 0, needed_usd })
    expect(await workers()).toHaveLength(2)
    await set({ [name]: 'off' })
    expect((await buy('k3', ids)).status).toBe(201)
  })

  it('grants as many workers of a purchase as it allows, and no more when it is repeated', async () => {
    await set({ budget_usd_per_day: TWO_MACHINES })
    const ids = await sessions(5)
    expect((await buy('k', ids, { count: 5 })).json.workers).toHaveLength(2)
    expect((await buy('k', ids, { count: 5 })).json.workers).toHaveLength(2)
    expect(await workers()).toHaveLength(2)
  })

  it('is not exceeded by concurrent purchases', async () => {
    await set({ budget_usd_per_day: TWO_MACHINES })
    const ids = await sessions(2)
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => buy(`k${n}`, ids)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
    expect(await workers()).toHaveLength(2)
  })

  it('is not exceeded by purchases and wake-ups at the same time', async () => {
    const sleepers = [await paused(), await paused()]
    await set({ budget_usd_per_day: TWO_MACHINES })
    const ids = await sessions(2)
    const answers = await Promise.all([
      ...sleepers.map(id => resume(id, ids)),
      ...Array.from({ length: 3 }, (_, n) => buy(`k${n}`, ids)),
    ])
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(2)
  })

  it('counts a purchase whose workers a crash has not created yet', async () => {
    await set({ budget_usd_per_day: 9 })
    const ids = await sessions(2)
    course.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    expect((await buy('k1', ids)).status).toBe(503)
    expect((await buy('k2', ids)).json.reason.code).toBe('budget_exceeded')
    expect((await buy('k1', ids)).json.workers).toHaveLength(1)
    await course.clock.advance(11 * 60_000)
    expect((await buy('k2', ids)).json.reason.code).toBe('budget_exceeded')
  })

  it('is free again when what was granted never came to be', async () => {
    await set({ budget_usd_per_day: 9 })
    const ids = await sessions(2)
    course.store.interrupt({ kind: 'worker', write: 'insert', when: 'before', run: crash })
    await buy('k1', ids)
    await course.clock.advance(11 * 60_000)
    expect((await buy('k2', ids)).status).toBe(201)
    expect(Object.keys((await course.scaling())?.commitments ?? {})).toHaveLength(1)
  })

  it('counts what was spent today, and starts again at midnight', async () => {
    const { id } = await course.running()
    await set({ budget_usd_per_day: 50 })
    await course.clock.advance(11 * HOUR_MS)
    const ids = await sessions(1)
    const refused = await buy('k1', ids)
    expect(refused.json.reason).toMatchObject({ code: 'budget_exceeded' })
    expect(refused.json.reason.params.spent_usd).toBeGreaterThan(43)
    await course.act(id, 'stop', { force: true })
    await course.clock.advance(13 * HOUR_MS)
    expect((await buy('k1', await sessions(1))).status).toBe(201)
  })
})

describe('a worker that sleeps', () => {
  it('is not woken beyond the budget, which is recorded once an hour', async () => {
    const id = await paused()
    await set({ budget_usd_per_day: 7 })
    const ids = await sessions(1)
    for (let n = 0; n < 3; n += 1)
      expect(await resume(id, ids)).toMatchObject({
        status: 409,
        json: { code: 'budget_exceeded', reason: { code: 'budget_exceeded', params: { needed_usd: 8 } } },
      })
    expect((await course.get(id)).desired_status).toBe('STOPPED')
    const rejected = await course.journal('scaling', 'fleet_scaling:fleet')
    expect(rejected.map(({ body }) => body)).toMatchObject([{ outcome: 'scale_up_rejected', worker_id: id }])
    await set({ budget_usd_per_day: 9 })
    expect((await resume(id, ids)).json.desired_status).toBe('RUNNING')
  })

  it('is started by a person, whatever the budget', async () => {
    const id = await paused()
    await set({ budget_usd_per_day: 0 })
    expect((await course.act(id, 'start')).status).toBe(202)
    expect((await course.send('POST', 'workers', { json: { template_name: 'metal' } })).status).toBe(201)
  })

  it('and that a person holds is refused as such', async () => {
    const { id } = await course.running()
    await course.act(id, 'stop')
    await set({ budget_usd_per_day: 0 })
    expect((await resume(id, await sessions(1))).json.code).toBe('worker_held')
    expect((await course.scaling())?.commitments).toEqual({})
  })
})

it('nothing that runs is stopped by a budget, and sessions are still placed on it', async () => {
  const { id } = await course.serving()
  await set({ budget_usd_per_day: 0 })
  await course.clock.advance(HOUR_MS)
  const session = await course.book({ best_effort: true })
  expect((await course.assign(session.id, id)).status).toBe(200)
  expect((await resume(id, [session.id])).status).toBe(200)
  expect((await course.get(id)).desired_status).toBe('RUNNING')
})
