import { METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const all = async () => (await fleet.send('GET', 'workers?include_terminated=true')).json.items
const report = async (id: string, changes: object) => fleet.report(id, (await fleet.get(id)).version, changes)

describe('a worker whose machine is lost', () => {
  const lose = async (more: object = {}) => {
    const template = { ...METAL, name: 'lasting', replace_lost: true, ...more }
    await fleet.send('POST', 'worker-templates', { json: template })
    const { id } = await fleet.running({ template_name: template.name, name: 'class', labels: { environment: 'prod' } })
    return id
  }

  it('is replaced when its template says so', async () => {
    const id = await lose()
    await report(id, { status: 'TERMINATED' })
    const others = (await all()).filter((worker: { id: string }) => worker.id !== id)
    expect(others).toMatchObject([
      {
        name: 'class',
        status: 'PENDING',
        desired_status: 'RUNNING',
        desired_by: 'replace_lost',
        labels: { environment: 'prod' },
      },
    ])
    expect(others[0].desired_reason).toBe(`in place of ${id}`)
    expect((await fleet.journal('scaling', `worker:${others[0].id}`))[0]?.body).toMatchObject({ replaces: id })
  })

  it('is replaced once, also when its own end could not be written at first', async () => {
    const id = await lose()
    fleet.store.interrupt({ kind: 'worker', write: 'replace', when: 'before', run: crash })
    expect((await report(id, { status: 'TERMINATED' })).status).toBe(503)
    expect((await report(id, { status: 'TERMINATED' })).status).toBe(200)
    expect((await all()).length).toBe(2)
  })

  it('is not replaced by a report of an older version, which is refused', async () => {
    const id = await lose()
    const { version } = await fleet.get(id)
    expect((await fleet.report(id, version - 1, { status: 'TERMINATED' })).status).toBe(412)
    expect((await all()).length).toBe(1)
  })

  it('is not replaced when its template is disabled or does not say so', async () => {
    const [plain, disabled] = [await lose({ name: 'plain', replace_lost: false }), await lose()]
    await fleet.send('POST', 'worker-templates/lasting/disable', { json: {} })
    for (const id of [plain, disabled]) await report(id, { status: 'TERMINATED' })
    expect((await all()).length).toBe(2)
  })

  it('is not replaced during a drain', async () => {
    const id = await lose()
    await fleet.act(id, 'drain')
    await report(id, { status: 'TERMINATED' })
    expect((await all()).length).toBe(1)
  })

  it('is not replaced when a person terminates it', async () => {
    const id = await lose()
    await fleet.act(id, 'terminate')
    await report(id, { status: 'TERMINATED' })
    expect((await all()).length).toBe(1)
  })
})

describe('a report', () => {
  it('applies a finished drain in the same write', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'drain', { reason: 'maintenance' })
    await fleet.moveTo(id, 'DRAINING', 'STOPPING')
    expect(await fleet.get(id)).toMatchObject({ desired_status: 'STOPPED', desired_by: 'admin', drain: null })
    const outcomes = (await fleet.journal('scaling', `worker:${id}`)).map(({ body }) => body)
    expect(outcomes).toContainEqual({ outcome: 'drained', by: 'admin', because: 'maintenance' })
  })

  it('refuses to stop a worker with sessions before its time', async () => {
    const { id } = await fleet.running()
    await fleet.act(id, 'drain')
    await fleet.reserve(id)
    await fleet.moveTo(id, 'DRAINING')
    expect(await report(id, { status: 'STOPPING' })).toMatchObject({
      status: 409,
      json: { code: 'illegal_transition' },
    })
    await fleet.clock.advance(4 * 3_600_000)
    expect((await report(id, { status: 'STOPPING' })).status).toBe(200)
  })

  it('accepts an external stop when the settings say so', async () => {
    await fleet.send('PATCH', 'settings', { json: { external_stop: 'accept' } })
    const { id } = await fleet.running()
    expect(await fleet.moveTo(id, 'STOPPED')).toMatchObject({
      desired_status: 'STOPPED',
      pause: { reason: { code: 'stopped_outside_lcm' }, by: 'external stop' },
    })
  })

  it('keeps the token of a license that is released with every stop', async () => {
    await fleet.send('PATCH', 'settings', { json: { license_on_stop: 'release' } })
    const { id } = await fleet.running({ license: { product: 'CML_Enterprise', token: 'secret-token' } })
    await report(id, { license: { status: 'REGISTERED', pending_operation: null } })
    const secrets = await fleet.send('GET', `workers/${id}/secrets`, { headers: fleet.asService('worker-controller') })
    expect(secrets.json.license_token).toBe('secret-token')
  })

  it('counts failures, from 0 after a retry by a person', async () => {
    const { id } = await fleet.create()
    await fleet.moveTo(id, 'PROVISIONING', 'STARTING', 'FAILED', 'STARTING')
    expect((await fleet.moveTo(id, 'FAILED')).failures).toBe(2)
    await fleet.act(id, 'retry')
    expect((await fleet.get(id)).failures).toBe(0)
    expect((await fleet.moveTo(id, 'RUNNING')).failures).toBe(0)
  })
})
