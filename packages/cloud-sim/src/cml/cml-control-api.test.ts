import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { machineToProbe } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel } from '../sim-model.ts'
import { memorySimStore } from '../sim-store.ts'
import { bootedCml } from '../testing/booted-cml.ts'
import { cmlControl } from './cml-control-api.ts'
import { NO_FAULTS } from './faults.ts'

async function open(store = memorySimStore()) {
  const clock = manualClock()
  const model = openSimModel({ seed: 5, clock, store })
  const cml = await bootedCml(model, ms => clock.advance(ms))
  const control = cmlControl(model)
  const act = (method: string, name: string, body?: object) =>
    control({
      method,
      url: `/sim/v1/instances/${cml.id}/cml${name}`,
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  return { ...cml, clock, model, control, act }
}

describe('manual changes of a CML server', () => {
  it('show, change and reset faults', async () => {
    const { act } = await open()
    expect(act('GET', '/faults')).toEqual({ status: 200, body: NO_FAULTS })
    expect(act('PATCH', '/faults', { fail_one_in: 7 })).toEqual({ status: 200, body: { ...NO_FAULTS, fail_one_in: 7 } })
    expect(act('PATCH', '/faults', { ram_taken_mib: 1 })?.body).toMatchObject({ fail_one_in: 7, ram_taken_mib: 1 })
    expect(act('DELETE', '/faults')?.body).toEqual(NO_FAULTS)
  })

  it.each([{ fail_one_in: -1 }, { nonsense: true }, { license_server: 'maybe' }])(
    'reject the fault %j',
    async patch => {
      const { act } = await open()
      expect(act('PATCH', '/faults', patch)?.status).toBe(400)
      expect(act('GET', '/faults')?.body).toEqual(NO_FAULTS)
    },
  )

  it('change the password and drop sessions', async () => {
    const { act, ask, login, again } = await open()
    act('POST', '/forget-sessions')
    expect(ask('GET', '/authok').status).toBe(401)
    again()
    expect(ask('GET', '/authok').status).toBe(200)
    act('POST', '/password', { password: 'another' })
    expect(ask('GET', '/authok').status).toBe(401)
    expect(login('admin', 'lablet').status).toBe(403)
    expect(login('admin', 'another').status).toBe(200)
    expect(act('POST', '/password', { username: 'unknown', password: 'x' })?.status).toBe(404)
  })

  it("record user activity and start labs that LCM doesn't manage", async () => {
    const { act, ask } = await open()
    const active = act('POST', '/activity', { username: 'ann' })
    const started = act('POST', '/start-lab', { username: 'ann', title: 'of ann' })
    expect(started?.body).toMatchObject(active?.body ?? {})
    const labId = 'lab_id' in (started?.body ?? {}) ? Object(started?.body).lab_id : ''
    expect(ask('GET', '/labs').body).toEqual([])
    expect(ask('GET', '/labs?show_all=true').body).toEqual([labId])
    expect(ask('GET', `/labs/${labId}`).body).toMatchObject({ owner_username: 'ann', state: 'STARTED' })
    const events = JSON.stringify(ask('GET', '/telemetry/events').body)
    expect(events).toContain(`"user_activity","timestamp":"2026-01-01T`)
    expect(events).toContain(Object(active?.body).user_id)
    expect(act('GET', '')?.body).toMatchObject({ stage: 'READY', nodes: { quota: 5, started: 1 } })
  })

  it('type on the console of a node that has booted', async () => {
    const store = memorySimStore()
    const { act, ask, settle, clock, ...cml } = await open(store)
    const lab_id = Object(act('POST', '/start-lab', { username: 'ann' })?.body).lab_id
    const typed = (more: object) => act('POST', '/type', { lab_id, node: 'alpine-0', line: 'hostname A', ...more })
    expect(typed({})?.status).toBe(409)
    await settle()
    expect(typed({ node: 'R9' })?.status).toBe(404)
    expect(typed({})?.status).toBe(200)
    const [{ id }] = Object(ask('GET', `/labs/${lab_id}/nodes?data=true`).body)
    const path = `/labs/${lab_id}/nodes/${id}/consoles/0/log`
    expect(ask('GET', `${path}?lines=2`).body).toContain('#hostname A')
    const reopened = openSimModel({ seed: 5, clock, store })
    const request = { method: 'GET', path, query: new URLSearchParams(), token: cml.token, body: '' }
    expect(reopened.cml.call(cml.id, request).body).toContain('#hostname A')
  })

  it('cut the network while labs keep running', async () => {
    const { act, ask, model, id } = await open()
    act('POST', '/start-lab', { username: 'ann' })
    act('PATCH', '/faults', { network: 'cut' })
    expect(model.cml.stageOf(id)).toBe('TCP')
    expect(ask('GET', '/authok').status).toBe(502)
    expect(act('GET', '')?.body).toMatchObject({ nodes: { started: 1 } })
    expect(model.cml.faultChangesOf(id)).toEqual({ network: 'cut' })
    act('DELETE', '/faults')
    expect(ask('GET', '/authok').status).toBe(200)
    expect(model.cml.faultChangesOf(id)).toEqual({})
  })

  it('free memory so that queued nodes start', async () => {
    const { act, model, id } = await open()
    act('PATCH', '/faults', { ram_taken_mib: 190 * 1024 })
    act('POST', '/start-lab', { username: 'ann' })
    expect(model.cml.changesAtMs(id)).toBeNull()
    act('PATCH', '/faults', { ram_taken_mib: 0 })
    expect(model.cml.changesAtMs(id)).not.toBeNull()
  })

  it('replace the certificate', async () => {
    const { act, model, id } = await open()
    const before = model.cml.fingerprintOf(id)
    const { body } = act('POST', '/replace-certificate') ?? {}
    expect(body).toEqual({ certificate_sha256: model.cml.fingerprintOf(id) })
    expect(model.cml.fingerprintOf(id)).not.toBe(before)
    const stored = model.cml.identityOf(id).sha256
    act('POST', '/replace-certificate')
    expect(model.cml.identityOf(id).sha256).not.toBe(stored)
    expect(model.cml.fingerprintOf(id)).toBe(model.cml.identityOf(id).sha256)
  })

  it('return 404 for an unknown instance', async () => {
    const { act, control } = await open()
    expect(act('POST', '/dance')).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('POST password') },
    })
    expect(control({ method: 'GET', url: '/sim/v1/instances/i-0/cml/faults' })?.status).toBe(404)
    expect(control({ method: 'GET', url: '/sim/v1/instances/i-0' })).toBeNull()
    expect(control({ method: 'GET', url: '/sim/v1/smart-account' })).toEqual({ status: 200, body: { items: [] } })
  })

  it("are rejected while the server hasn't booted", () => {
    const clock = manualClock()
    const model = openSimModel({ seed: 5, clock })
    const { id } = machineToProbe(model, ms => clock.advance(ms))
    const url = `/sim/v1/instances/${id}/cml/activity`
    expect(cmlControl(model)({ method: 'POST', url, body: '{"username":"ann"}' })?.status).toBe(409)
  })
})
