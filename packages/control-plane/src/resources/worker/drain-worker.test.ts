import { toInstant } from '@lcm/domain/instant'
import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

describe('drain', () => {
  it('blocks assignments and keeps the desired status', async () => {
    const worker = await fleet.running()
    const { status, json } = await fleet.act(worker.id, 'drain', { reason: 'maintenance' })
    expect(status).toBe(202)
    expect(json).toMatchObject({ desired_status: 'RUNNING', status: 'RUNNING', version: worker.version + 1 })
    expect(json.drain).toEqual({
      requested_at: json.updated_at,
      by: 'admin',
      reason: 'maintenance',
      // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
      then: 'STOPPED',
      deadline: toInstant(Date.parse(json.updated_at) + 4 * 3_600_000),
    })
  })

  it('uses the timeout of the template, or of the request', async () => {
    await fleet.send('POST', 'worker-templates', { json: { ...METAL, name: 'quick', drain_timeout_seconds: 90 } })
    const waits = async (body: object) => {
      const { id } = await fleet.running({ template_name: 'quick' })
      const { json } = await fleet.act(id, 'drain', body)
      return (Date.parse(json.drain.deadline) - Date.parse(json.drain.requested_at)) / 1000
    }
    expect(await waits({})).toBe(90)
    expect(await waits({ timeout_seconds: 120 })).toBe(120)
  })

  it('uses four hours when the template is deleted', async () => {
    const { id } = await fleet.running()
    await fleet.edit(id, () => ({ template_name: 'gone' }))
    const { drain } = (await fleet.act(id, 'drain')).json
    expect(Date.parse(drain.deadline) - Date.parse(drain.requested_at)).toBe(4 * 3_600_000)
  })

  it('keeps the sessions on the worker', async () => {
    const { id } = await fleet.running()
    await fleet.reserve(id)
    expect((await fleet.act(id, 'drain')).json.reservations).toHaveProperty('ls-1')
  })

  it('is refused in every other status', async () => {
    const { id } = await fleet.create()
    const refused = async () => (await fleet.act(id, 'drain')).json.code
    expect(await refused()).toBe('worker_not_running')
    for (const status of ['PROVISIONING', 'STARTING', 'STOPPING', 'STOPPED'] as const) {
      await fleet.moveTo(id, status)
      expect(await refused(), status).toBe('worker_not_running')
    }
  })

  it('changes nothing when repeated, and updates the end status when that differs', async () => {
    const { id } = await fleet.running()
    const first = (await fleet.act(id, 'drain')).json
    await fleet.clock.advance(60_000)
    expect((await fleet.act(id, 'drain')).json).toMatchObject({ version: first.version, drain: first.drain })
    await fleet.moveTo(id, 'DRAINING')
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const terminated = await fleet.act(id, 'drain', { then: 'TERMINATED' })
    expect(terminated).toMatchObject({ status: 202, json: { version: first.version + 2 } })
    expect(terminated.json.drain.then).toBe('TERMINATED')
  })

  it('updates the timeout when that differs, also when repeated', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'drain')
    await fleet.clock.advance(60_000)
    const { version, drain } = (await fleet.act(id, 'drain', { timeout_seconds: 8 * 3600 })).json
    expect(Date.parse(drain.deadline) - Date.parse(drain.requested_at)).toBe(8 * 3_600_000)
    await fleet.clock.advance(60_000)
    expect((await fleet.act(id, 'drain', { timeout_seconds: 8 * 3600 })).json).toMatchObject({ version, drain })
  })

  it('of a policy is taken over by a person who requests the same', async () => {
    const { id } = await fleet.running()
    const { drain } = (await fleet.act(id, 'drain')).json
    await fleet.edit(id, () => ({ drain: { ...drain, by: 'idle', policy: 'idle' } }))
    const taken = (await fleet.act(id, 'drain')).json.drain
    expect(taken).toMatchObject({ by: 'admin' })
    expect(taken).not.toHaveProperty('policy')
  })

  it('never terminates a protected worker, but may stop it', async () => {
    const { id } = await fleet.running({ protected: true })
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const refused = await fleet.act(id, 'drain', { then: 'TERMINATED' })
    expect(refused).toMatchObject({ status: 409, json: { code: 'worker_protected' } })
    expect((await fleet.act(id, 'drain')).status).toBe(202)
  })

  it.each([{ timeout_seconds: 59 }, { timeout_seconds: 7 * 86_400 + 1 }, { timeout_seconds: 90.5 }])(
    'refuses %j',
    async body => {
      const { id } = await fleet.running()
      expect(await fleet.act(id, 'drain', body)).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    },
  )
})

describe('cancel-drain', () => {
  it('allows assignments again', async () => {
    const { id } = await fleet.running()
    const { version } = (await fleet.act(id, 'drain')).json
    const open = await fleet.act(id, 'cancel-drain', { reason: 'not today' })
    expect(open).toMatchObject({ status: 202, json: { drain: null, version: version + 1 } })
    const [entry] = await fleet.journal('audit', `worker:${id}`)
    expect(entry?.body).toMatchObject({ action: 'cancel-drain', reason: 'not today', after: { drain: null } })
  })

  it('changes nothing when there is no drain', async () => {
    const { id, version } = await fleet.running()
    expect(await fleet.act(id, 'cancel-drain')).toMatchObject({ status: 202, json: { version } })
  })
})
