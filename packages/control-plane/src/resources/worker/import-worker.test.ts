import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const FOUND = {
  ec2_instance_id: 'i-0abc1234',
  aws_region: 'eu-west-1',
  name: 'found',
  status: 'STARTING',
  instance_type: 'c5.metal',
  ami_id: 'ami-1',
  availability_zone: 'eu-west-1a',
  public_ip: '192.0.2.7',
  private_ip: null,
  https_endpoint: 'https://192.0.2.7',
  cml_version: '2.8.1',
  tags: { 'cml-managed': 'true' },
  labels: { environment: 'prod' },
}
const found = (more: object = {}, epoch = 1) =>
  fleet.fenced('POST', 'workers/imports', { ...FOUND, ...more }, { epoch })

describe('a discovered machine', () => {
  it('becomes a worker', async () => {
    const { status, headers, json } = await found()
    expect(status).toBe(201)
    expect(headers.location).toBe(`/api/v1/workers/${json.id}`)
    const { cml_version, ...facts } = FOUND
    expect(json).toMatchObject({
      ...facts,
      origin: 'DISCOVERY',
      template_name: 'imported',
      version: 1,
      cml: { version: cml_version },
      fence: { 'worker-controller': 1 },
    })
    expect((await fleet.send('GET', `workers/${json.id}/history`)).json.items).toMatchObject([
      { from: null, to: 'STARTING', because: { code: 'discovered' }, by: 'worker-controller' },
    ])
  })

  it('is recorded once when it is found again, also by two controllers at once', async () => {
    const answers = await Promise.all([found(), found({ name: 'again' }), found()])
    expect(answers.map(answer => answer.status).sort()).toEqual([200, 200, 201])
    expect(new Set(answers.map(answer => answer.json.id)).size).toBe(1)
    const { id } = answers[0].json
    await fleet.send('PATCH', `workers/${id}`, { json: { name: 'mine' } })
    expect(await found()).toMatchObject({ status: 200, json: { id, name: 'mine', version: 2 } })
    expect((await fleet.send('GET', 'workers')).json.items).toHaveLength(1)
  })

  it('needs an approval, and shows the certificate to compare', async () => {
    const { json } = await found({ certificate_sha256: 'ab'.repeat(32), tags: { auto_approve: 'yes' } })
    expect(json).toMatchObject({
      approval: { state: 'required', by: null, at: null, fingerprint: null },
      cml: { certificate_sha256: null, seen_certificate_sha256: 'ab'.repeat(32) },
    })
  })

  it.each([
    ['ami-0123456789abcdef0', 'approved'],
    ['ami-00000000', 'required'],
    ['ami-00000000,lt-0123456789abcdef0', 'approved'],
    ['none', 'required'],
  ])('with auto_approve %s is %s', async (auto_approve, state) => {
    await fleet.send('PATCH', 'settings', { json: { auto_approve } })
    const origin = { ami_id: 'ami-0123456789abcdef0', launch_template_id: 'lt-0123456789abcdef0' }
    const { json } = await found(origin)
    expect(json.approval).toMatchObject({ state, by: state === 'approved' ? 'auto_approve' : null })
    const audit = (await fleet.journal('audit', `worker:${json.id}`)).map(
      ({ body }) => (body as { action: string }).action,
    )
    expect(audit.filter(action => action === 'approve')).toHaveLength(state === 'approved' ? 1 : 0)
  })

  it.each([
    ['PROVISIONING', 'RUNNING', 'stopped'],
    ['STARTING', 'RUNNING', 'boot'],
    ['STOPPED', 'STOPPED', 'stopped'],
  ])('keeps its state as desired status: %s means %s', async (status, desired_status, cause) => {
    const { json } = await found({ status })
    expect(json).toMatchObject({ status, desired_status, desired_by: 'worker-controller' })
    expect(json.billing).toEqual({ since: cause === null ? null : json.created_at, cause, closed_usd: 0 })
  })

  it('has a cost from the time of its discovery', async () => {
    const { json } = await found()
    await fleet.clock.advance(1_800_000)
    expect((await fleet.get(json.id)).cost).toEqual({
      spent_usd: expect.closeTo(2.04, 9),
      per_hour_usd: 4.08,
      cause: 'boot',
    })
  })

  it('has the capacity and the price of its instance type', async () => {
    const { json } = await found()
    expect(json.cost_per_hour_usd).toBe(4.08)
    expect(json.capacity.declared).toEqual({ cpu_cores: 96, memory_gb: 184, storage_gb: null, max_nodes: 384 })
    expect((await fleet.send('GET', 'fleet/summary')).json.cost.per_hour_usd).toBe(4.08)
  })

  it('of an unknown type has an unknown price, which is counted as such and never as 0', async () => {
    const { json } = await found({ instance_type: 'q9.metal' })
    expect(json).toMatchObject({ cost_per_hour_usd: null, capacity: { declared: null } })
    await fleet.clock.advance(1_800_000)
    expect((await fleet.get(json.id)).cost).toEqual({ spent_usd: 0, per_hour_usd: null, cause: 'boot' })
    expect((await fleet.send('GET', 'fleet/summary')).json.cost).toMatchObject({ per_hour_usd: 0, unknown_prices: 1 })
  })

  it('gets other figures with another instance type; what was spent before keeps its price', async () => {
    const { json } = await found()
    await fleet.clock.advance(3_600_000)
    await fleet.report(json.id, json.version, { instance_type: 'm5.metal' })
    await fleet.clock.advance(3_600_000)
    const worker = await fleet.get(json.id)
    expect(worker.capacity.declared).toMatchObject({ cpu_cores: 96, memory_gb: 368 })
    expect(worker.cost).toMatchObject({ spent_usd: expect.closeTo(4.08 + 4.608, 1), per_hour_usd: 4.608 })
  })

  it('that an earlier version recorded without a price gets it at the next start', async () => {
    const { json } = await found()
    await fleet.edit(json.id, () => ({ cost_per_hour_usd: null, capacity: { ...json.capacity, declared: null } }))
    await fleet.clock.advance(3_600_000)
    await fleet.seed([])
    await fleet.clock.advance(3_600_000)
    const worker = await fleet.get(json.id)
    expect(worker.capacity.declared).toMatchObject({ cpu_cores: 96 })
    expect(worker.cost).toMatchObject({ spent_usd: expect.closeTo(4.08, 2), per_hour_usd: 4.08 })
    const { unknown_prices } = (await fleet.send('GET', 'fleet/cost')).json
    expect(unknown_prices).toBe(1)
    await fleet.seed([])
    expect((await fleet.get(json.id)).version).toBe(worker.version)
  })

  it.each([
    [{ aws_region: 'eu-north-1' }, 422],
    [{ ec2_instance_id: 'x' }, 400],
    [{ status: 'RUNNING' }, 400],
  ])('is refused with %j', async (more, status) => {
    expect((await found(more)).status).toBe(status)
    expect((await fleet.send('GET', 'workers')).json.items).toEqual([])
  })

  it('is accepted from the leader of the worker-controller only', async () => {
    await found({}, 2)
    expect(await found({ ec2_instance_id: 'i-0abc9999' }, 1)).toMatchObject({ json: { code: 'stale_leader' } })
    const foreign = await fleet.fenced('POST', 'workers/imports', FOUND, { by: 'resource-scheduler' })
    expect(foreign.status).toBe(403)
  })
})
