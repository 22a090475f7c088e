import { textReason } from '@lcm/domain/reason'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const DECISION = { action: 'open_attempt', because: textReason('nothing is there yet') }
const token = (n: number) => String(n).padStart(64, '0')
const attempt = (n: number, more: object = {}) => anAttempt({ n, client_token: token(n), state: 'open', ...more })

async function open(id: string, launch: object, more: { ifMatch?: number; epoch?: number } = {}) {
  const ifMatch = more.ifMatch ?? (await fleet.get(id)).version
  const json = { attempt: launch, decision: DECISION }
  return fleet.fenced('POST', `workers/${id}/launch-attempts`, json, { ...more, ifMatch })
}
const report = async (id: string, changes: object) => fleet.report(id, (await fleet.get(id)).version, changes)

describe('a launch attempt', () => {
  it('is stored unchanged, with its decision', async () => {
    const { id } = await fleet.create()
    const { status, json } = await open(id, attempt(1))
    expect(status).toBe(200)
    expect(json).toMatchObject({ version: 2, launch: attempt(1), fence: { 'worker-controller': 1 } })
    const [decision] = await fleet.journal('decision', `worker:${id}`)
    expect(decision?.body).toMatchObject({ ...DECISION, service: 'worker-controller', epoch: 1 })
  })

  it('is the only open attempt', async () => {
    const { id } = await fleet.create()
    await open(id, attempt(1))
    const refused = await open(id, attempt(2))
    expect(refused).toMatchObject({ status: 409, json: { code: 'illegal_transition' } })
    expect(refused.json.detail).toContain('attempt 1 of')
    expect((await fleet.get(id)).launch?.n).toBe(1)
  })

  it.each(['refused', 'spent'])('follows one that is %s, and continues its count', async state => {
    const { id } = await fleet.create()
    await open(id, attempt(1))
    await report(id, { launch: attempt(1, { state }) })
    for (const n of [1, 3]) expect(await open(id, attempt(n)), `${n}`).toMatchObject({ status: 409 })
    expect(await open(id, attempt(2))).toMatchObject({ status: 200, json: { launch: { n: 2, state: 'open' } } })
  })

  it('must have number 1 and be open at first', async () => {
    const { id } = await fleet.create()
    for (const launch of [attempt(2), attempt(1, { state: 'launched' })])
      expect(await open(id, launch)).toMatchObject({ status: 409, json: { code: 'illegal_transition' } })
    for (const launch of [attempt(0), attempt(1, { client_token: 'short' }), { ...attempt(1), parameters: {} }])
      expect(await open(id, launch)).toMatchObject({ status: 400 })
    expect((await fleet.get(id)).version).toBe(1)
  })

  it('is accepted for PENDING workers only', async () => {
    const { id } = await fleet.create()
    for (const status of ['PROVISIONING', 'STARTING', 'RUNNING', 'FAILED'] as const) {
      await fleet.moveTo(id, status)
      expect(await open(id, attempt(1)), status).toMatchObject({ status: 409, json: { code: 'illegal_transition' } })
    }
  })

  it('requires a base version and a term', async () => {
    const { id } = await fleet.create()
    const json = { attempt: attempt(1), decision: DECISION }
    const blind = await fleet.fenced('POST', `workers/${id}/launch-attempts`, json)
    expect(blind).toMatchObject({ status: 428, json: { code: 'precondition_required' } })
    expect(await open(id, attempt(1), { ifMatch: 7 })).toMatchObject({ status: 412 })
    const headers = { ...fleet.asService('worker-controller'), 'if-match': '"1"' }
    const termless = await fleet.send('POST', `workers/${id}/launch-attempts`, { headers, json })
    expect(termless).toMatchObject({ status: 428, json: { code: 'precondition_required' } })
    const foreign = await fleet.fenced('POST', `workers/${id}/launch-attempts`, json, {
      by: 'resource-scheduler',
      ifMatch: 1,
    })
    expect(foreign).toMatchObject({ status: 403 })
  })

  it('is refused for a superseded leader', async () => {
    const { id } = await fleet.create()
    await fleet.edit(id, () => ({ fence: { 'worker-controller': 2 } }))
    expect(await open(id, attempt(1), { epoch: 1 })).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
    expect((await open(id, attempt(1), { epoch: 2 })).status).toBe(200)
    expect(await open(id, attempt(2), { epoch: 1 })).toMatchObject({ status: 409, json: { code: 'stale_leader' } })
  })
})

describe('a report', () => {
  it('records the result of the attempt', async () => {
    const { id } = await fleet.create()
    await open(id, attempt(1))
    const launched = attempt(1, { state: 'launched' })
    const { json } = await report(id, { status: 'PROVISIONING', ec2_instance_id: 'i-1', launch: launched })
    expect(json.launch).toEqual(launched)
    const [entry] = await fleet.journal('scaling', `worker:${id}`)
    expect(entry?.body).toEqual({ outcome: 'provisioned', instance_id: 'i-1', attempt: 1 })
  })

  it.each<[string, object | null]>([
    ['has another attempt', attempt(2)],
    ['changes its token', attempt(1, { client_token: token(9) })],
    ['changes its parameters', attempt(1, { parameters: { ...attempt(1).parameters, subnet_id: 'subnet-b' } })],
    ['removes it', null],
  ])('is refused when it %s', async (_, launch) => {
    const { id } = await fleet.create()
    await open(id, attempt(1))
    expect(await report(id, { launch })).toMatchObject({ status: 409, json: { code: 'illegal_transition' } })
    expect((await fleet.get(id)).launch).toEqual(attempt(1))
  })

  it('is refused when it invents an attempt, or opens one again', async () => {
    const { id } = await fleet.create()
    expect(await report(id, { launch: attempt(1) })).toMatchObject({ status: 409 })
    expect(await report(id, { launch: null })).toMatchObject({ status: 200 })
    await open(id, attempt(1))
    await report(id, { launch: attempt(1, { state: 'refused', error: 'no capacity' }) })
    expect(await report(id, { launch: attempt(1) })).toMatchObject({
      status: 409,
      json: { code: 'illegal_transition' },
    })
    expect((await report(id, { launch: attempt(1, { state: 'spent' }) })).status).toBe(200)
  })

  it('changes only the given fields of license and CML', async () => {
    const { id } = await fleet.running()
    await report(id, { cml: { version: '2.8', node_definitions: ['iosv'] }, license: { udi: 'udi-1' } })
    const { json } = await report(id, { cml: { ready: true }, license: { status: 'REGISTERED' } })
    expect(json.cml).toEqual({
      version: '2.8',
      ready: true,
      certificate_sha256: null,
      seen_certificate_sha256: null,
      node_definitions: ['iosv'],
      restarted_at: null,
      up_until: null,
    })
    expect(json.license).toMatchObject({ udi: 'udi-1', status: 'REGISTERED' })
  })
})
