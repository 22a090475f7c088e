import { textReason } from '@lcm/domain/reason'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const report = async (id: string, changes: object) => fleet.report(id, (await fleet.get(id)).version, changes)
const condition = (type: string) => ({
  type,
  status: true,
  reason: textReason('x'),
  since: '2026-01-01T00:00:00.000Z',
})

describe('the termination of a worker', () => {
  it('is refused while a launch attempt may still produce a machine', async () => {
    const { id } = await fleet.create()
    await fleet.edit(id, () => ({ desired_status: 'TERMINATED', launch: anAttempt({ state: 'open' }) }))
    expect(await report(id, { status: 'TERMINATED' })).toMatchObject({
      status: 409,
      json: { code: 'illegal_transition' },
    })
    await report(id, { launch: anAttempt({ state: 'spent' }) })
    expect((await report(id, { status: 'TERMINATED' })).status).toBe(200)
  })
})

describe('a move back to PENDING', () => {
  it('is refused while it has a machine', async () => {
    const { id } = await fleet.create()
    await fleet.moveTo(id, 'PROVISIONING', 'FAILED')
    expect((await report(id, { status: 'PENDING' })).status).toBe(409)
    expect((await report(id, { status: 'PENDING', ec2_instance_id: null })).status).toBe(200)
  })
})

describe('a retry by a person', () => {
  it('clears the conditions of the failure', async () => {
    const { id } = await fleet.create()
    await fleet.moveTo(id, 'PROVISIONING', 'STARTING')
    const types = ['Failed', 'InstanceStopped', 'Overdue', 'LaunchBlocked']
    await report(id, { status: 'FAILED', conditions: [...types, 'TagsChanged'].map(condition) })
    await fleet.act(id, 'retry')
    expect((await fleet.get(id)).conditions.map(({ type }) => type)).toEqual(['TagsChanged'])
  })
})

describe('a license that is leaked again', () => {
  const leak = async (worker_id: string, text: string) => {
    const reason = textReason(text)
    return fleet.fenced('POST', 'license-leaks', { worker_id, udi: 'udi-1', hostname: null, product: null, reason })
  }
  const leaks = async () => (await fleet.send('GET', 'license-leaks')).json.items

  it('is recorded again after the first leak was resolved', async () => {
    const { id } = await fleet.running()
    expect((await leak(id, 'its machine was killed')).status).toBe(201)
    expect((await leak(id, 'its machine was killed')).status).toBe(200)
    const [first] = await leaks()
    await fleet.send('POST', `license-leaks/${first.id}/resolve`, { json: { reason: 'freed by hand' } })
    expect((await leak(id, 'once more')).status).toBe(201)
    const open = (await leaks()).filter((each: { resolved_at: string | null }) => each.resolved_at === null)
    expect(open).toMatchObject([{ worker_id: id, reason: { message: 'once more' } }])
  })
})

describe('a machine that reappears after its worker was terminated', () => {
  const FOUND = {
    ec2_instance_id: 'i-0abc1234',
    aws_region: 'us-east-1',
    name: 'found',
    status: 'STARTING',
    instance_type: 'c5.metal',
    ami_id: 'ami-1',
    availability_zone: 'us-east-1a',
    public_ip: null,
    private_ip: null,
    https_endpoint: null,
    cml_version: null,
    tags: {},
    labels: {},
    cost_per_hour_usd: 0,
  }
  const found = () => fleet.fenced('POST', 'workers/imports', FOUND)

  it('gets a new record, since it costs money', async () => {
    const { id } = (await found()).json
    await report(id, { status: 'TERMINATED' })
    const again = await found()
    expect(again.status).toBe(201)
    expect(again.json.id).not.toBe(id)
    expect(await found()).toMatchObject({ status: 200, json: { id: again.json.id } })
  })
})
