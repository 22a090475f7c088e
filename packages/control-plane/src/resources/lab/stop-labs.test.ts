import { textReason } from '@lcm/domain/reason'
import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'

let course: Course
let workerId: string
beforeEach(async () => {
  course = aCourse()
  workerId = (await course.serving()).id
})

interface Shown {
  readonly id: string
  readonly lab_id: string
  readonly pending_action: { readonly action: string; readonly by: string } | null
}
const labs = async (): Promise<readonly Shown[]> => (await course.send('GET', 'lab-records')).json.items
const pending = async () =>
  Object.fromEntries((await labs()).map(lab => [lab.lab_id, lab.pending_action?.action ?? null]))
const stop = (epoch = 1) =>
  course.fenced('POST', `workers/${workerId}/lab-stops`, { reason: textReason('labs are running') }, { epoch })
const condemn = () => course.edit(workerId, () => ({ status: 'TERMINATING', desired_status: 'TERMINATED' }))

describe('the labs of a worker that is being terminated', () => {
  beforeEach(async () => {
    await course.clock.advance(1_000)
    await course.scan(workerId, [
      { lab_id: 'up' },
      { lab_id: 'down', state: 'STOPPED' },
      { lab_id: 'condemned' },
      { lab_id: 'about to start' },
    ])
    for (const lab of await labs()) {
      const action = { condemned: 'delete', 'about to start': 'start' }[lab.lab_id]
      const pending_action = { action, by: 'ada', at: '2026-01-01T00:00:00.000Z', attempts: 0, error: null }
      if (action !== undefined) await course.reportLab(lab.id, { pending_action })
    }
  })

  it('are to be stopped once if they run, with the reason', async () => {
    await condemn()
    expect(await stop()).toMatchObject({ status: 200, json: { stopping: 3 } })
    expect(await pending()).toEqual({ up: 'stop', down: null, condemned: 'delete', 'about to start': 'stop' })
    const before = await labs()
    expect(before.find(lab => lab.lab_id === 'up')?.pending_action?.by).toBe('control-plane-api: labs are running')
    await stop()
    expect(await labs()).toEqual(before)
    expect((await course.get(workerId)).labs_refresh_requested_at).toBeNull()
  })

  it('of any other worker are not changed', async () => {
    expect(await stop()).toMatchObject({ status: 409, json: { code: 'illegal_transition' } })
    expect((await pending()).up).toBeNull()
  })

  it('are not stopped by a superseded leader', async () => {
    await condemn()
    await course.edit(workerId, () => ({ fence: { 'worker-controller': 2 } }))
    expect(await stop(1)).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
    expect((await pending()).up).toBeNull()
  })
})

it('requests a scan when no lab is known to run', async () => {
  await condemn()
  expect(await stop()).toMatchObject({ json: { stopping: 0 } })
  const { labs_refresh_requested_at, version } = await course.get(workerId)
  expect(labs_refresh_requested_at).not.toBeNull()
  await stop()
  expect((await course.get(workerId)).version).toBe(version)
  await course.clock.advance(1_000)
  await course.scan(workerId, [{ lab_id: 'up' }])
  expect(await stop()).toMatchObject({ json: { stopping: 1 } })
  expect(await pending()).toEqual({ up: 'stop' })
  expect((await course.get(workerId)).labs_refresh_requested_at).toBeNull()
})

it('requests nothing for a deleted lab', async () => {
  await course.clock.advance(1_000)
  await course.scan(workerId, [{ lab_id: 'up' }])
  await condemn()
  await stop()
  const [lab] = await labs()
  await course.reportLab(lab?.id ?? '', { status: 'DELETED' })
  expect((await course.lab(lab?.id ?? '')).pending_action).toBeNull()
})
