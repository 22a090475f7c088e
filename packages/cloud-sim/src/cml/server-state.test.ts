import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel } from '../sim-model.ts'
import { memorySimStore } from '../sim-store.ts'
import { bootedCml, rowOf } from '../testing/booted-cml.ts'
import { cmlControl } from './cml-control-api.ts'
import type { CmlFaults } from './faults.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

async function open(faults: Partial<CmlFaults> = {}, speed = 1) {
  const clock = manualClock()
  const store = memorySimStore()
  const model = openSimModel({ seed: 11, clock, store, speed })
  const cml = await bootedCml(model, ms => clock.advance(ms))
  const patch = (given: Partial<CmlFaults>) =>
    model.cml.act(cml.id, ({ server }) => {
      return { status: 200, change: { server: { ...server, fault_changes: { ...server.fault_changes, ...given } } } }
    })
  patch(faults)
  const imported = (...definitions: readonly string[]): string => {
    const { body } = cml.ask('POST', '/import', rowOf(...definitions))
    return body instanceof Object && 'id' in body ? String(body.id) : expect.fail(JSON.stringify(body))
  }
  const states = (labId: string) => {
    const { body } = cml.ask('GET', `/labs/${labId}/lab_element_state`)
    return Object.values(Object(body).nodes)
  }
  return { ...cml, clock, store, model, patch, imported, states }
}

const refusalOf = (status: number, description: unknown) => ({ status, body: { code: status, description } })

describe('sessions', () => {
  it('open with name and password, and return the token alone or with the user', async () => {
    const { ask, login, as } = await open()
    const token = login('admin', 'lablet').body
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    const [, claims = ''] = String(token).split('.')
    const { iss, iat, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    expect({ iss, lasts: exp - iat }).toEqual({ iss: 'com.cisco.virl', lasts: 86_400 })
    const extended = as(null)('POST', '/auth_extended', { username: 'admin', password: 'lablet' })
    expect(extended.body).toMatchObject({ username: 'admin', id: sub, admin: true, error: null })
    expect(ask('GET', '/authok')).toEqual({ status: 200, body: 'OK' })
    expect(ask('GET', '/users/admin/id')).toEqual({ status: 200, body: sub })
  })

  it('distinguish a wrong password from a missing session', async () => {
    const { login, as } = await open()
    expect(login('admin', 'wrong')).toEqual(refusalOf(403, expect.any(String)))
    expect(login('unknown', 'lablet').status).toBe(403)
    expect(login('', 'lablet').status).toBe(400)
    expect(as(null)('GET', '/authok')).toEqual(refusalOf(401, expect.any(String)))
    expect(as('a.b.c')('GET', '/labs').status).toBe(401)
  })

  it('end on logout, one or all', async () => {
    const { as, login } = await open()
    const [first, second, third] = [1, 2, 3].map(() => String(login('admin', 'lablet').body))
    expect(as(first ?? '')('DELETE', '/logout')).toEqual({ status: 200, body: true })
    const works = () => [first, second, third].map(token => as(token ?? '')('GET', '/authok').status)
    expect(works()).toEqual([401, 200, 200])
    as(second ?? '')('DELETE', '/logout?clear_all_sessions=true')
    expect(works()).toEqual([401, 401, 401])
  })

  it('end after the timeout, which can be set', async () => {
    const { ask, again, clock } = await open()
    expect(ask('PATCH', '/web_session_timeout/299').status).toBe(400)
    expect(ask('PATCH', '/web_session_timeout/600')).toEqual({ status: 200, body: 'OK' })
    again()
    await clock.advance(10 * MINUTE - 1)
    expect(ask('GET', '/web_session_timeout')).toEqual({ status: 200, body: 600 })
    await clock.advance(1)
    expect(ask('GET', '/web_session_timeout').status).toBe(401)
  })

  it('end when the password changes', async () => {
    const { ask, login, again } = await open()
    const id = ask('GET', '/users/admin/id').body
    expect(ask('PATCH', `/users/${id}`, { password: { new_password: 'short' } })).toEqual(
      refusalOf(403, 'Password validation failure! Reason: Length'),
    )
    expect(ask('PATCH', `/users/${id}`, { password: { new_password: 'much-longer' } }).status).toBe(200)
    expect(ask('GET', '/authok').status).toBe(401)
    again()
    expect(ask('GET', '/authok').status).toBe(401)
    expect(login('admin', 'much-longer').status).toBe(200)
  })

  it('are limited per minute, but not by thirty wrong passwords in a row', async () => {
    const { login, clock } = await open()
    const storm = Array.from({ length: 80 }, () => login('admin', 'wrong').status)
    expect(storm.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 403))
    expect(storm.at(-1)).toBe(429)
    await clock.advance(2 * SECOND)
    expect(login('admin', 'lablet').status).toBe(200)
  })
})

describe('labs', () => {
  it('boot node by node and converge', async () => {
    const { ask, imported, states, settle, clock } = await open()
    const lab = imported('iosv', 'unmanaged_switch')
    expect(ask('GET', `/labs/${lab}/state`).body).toBe('DEFINED_ON_CORE')
    expect(ask('PUT', `/labs/${lab}/start`)).toEqual({ status: 204 })
    expect(states(lab)).toEqual(['QUEUED', 'QUEUED'])
    await clock.advance(8 * SECOND)
    expect(states(lab)).toEqual(['STARTED', 'BOOTED'])
    expect(ask('GET', `/labs/${lab}/check_if_converged`).body).toBe(false)
    await settle()
    expect(states(lab)).toEqual(['BOOTED', 'BOOTED'])
    expect(ask('GET', `/labs/${lab}/check_if_converged`).body).toBe(true)
    const report = JSON.stringify(ask('GET', '/diagnostics/labs').body)
    expect(report).toMatch(/"QUEUED":[12],"STARTED":\d\d/)
  })

  it('boot faster at a higher speed', async () => {
    const { ask, imported, states, clock } = await open({}, 60)
    const lab = imported('iosv')
    ask('PUT', `/labs/${lab}/start`)
    await clock.advance(3 * SECOND)
    expect(states(lab)).toEqual(['BOOTED'])
  })

  it('stay queued without memory, and continue when it is free', async () => {
    const { ask, imported, states, settle, patch } = await open({ ram_taken_mib: 189 * 1024 - 700 })
    const [first, second] = [imported('iosv'), imported('iosv')]
    for (const lab of [first, second]) ask('PUT', `/labs/${lab}/start`)
    await settle()
    expect([states(first), states(second)]).toEqual([['BOOTED'], ['QUEUED']])
    expect(ask('GET', `/labs/${second}/check_if_converged`).body).toBe(false)
    expect(ask('GET', '/diagnostics/node_launch_queue').body).toHaveLength(1)
    ask('PUT', `/labs/${first}/stop`)
    await settle()
    expect([states(first), states(second)]).toEqual([['STOPPED'], ['BOOTED']])
    patch({})
  })

  it('start only as many nodes as the license allows; connectors and switches need no license', async () => {
    const { ask, imported } = await open()
    const many = imported(...Array.from({ length: 6 }, () => 'server'))
    const refused = ask('PUT', `/labs/${many}/start`)
    expect(refused).toEqual(refusalOf(400, expect.stringContaining('5')))
    const some = imported('external_connector', 'unmanaged_switch', ...Array.from({ length: 5 }, () => 'server'))
    expect(ask('PUT', `/labs/${some}/start`).status).toBe(204)
    expect(ask('GET', '/diagnostics/licensing').body).toMatchObject({ quota: 5, started: 5 })
    const one = imported('server')
    expect(ask('PUT', `/labs/${one}/start`).status).toBe(400)
  })

  it('converge after the timeout when a node never boots', async () => {
    const { ask, imported, states, clock } = await open({ never_boot: ['alpine'] })
    const lab = imported('alpine', 'server')
    ask('PUT', `/labs/${lab}/start`)
    await clock.advance(55 * SECOND)
    expect(states(lab)).toEqual(['STARTED', 'BOOTED'])
    expect(ask('GET', `/labs/${lab}/check_if_converged`).body).toBe(false)
    await clock.advance(10 * SECOND)
    expect(states(lab)).toEqual(['STARTED', 'BOOTED'])
    expect(ask('GET', `/labs/${lab}/check_if_converged`).body).toBe(true)
  })

  it("start no node on a cordoned host, which reports that it isn't ready", async () => {
    const { ask, imported } = await open()
    const host = Object(ask('GET', '/system/compute_hosts').body)[0]
    expect(ask('PATCH', `/system/compute_hosts/${host.id}`, { admission_state: 'REGISTERED' }).status).toBe(409)
    ask('PATCH', `/system/compute_hosts/${host.id}`, { admission_state: 'ONLINE' })
    expect(ask('GET', '/system_information').body).toMatchObject({ ready: false })
    const lab = imported('server')
    expect(ask('PUT', `/labs/${lab}/start`).status).toBe(400)
    ask('PATCH', `/system/compute_hosts/${host.id}`, { admission_state: 'READY' })
    expect(ask('PUT', `/labs/${lab}/start`).status).toBe(204)
  })

  it('reject unknown definitions, and warn about unknown images', async () => {
    const { ask } = await open()
    expect(ask('POST', '/import', rowOf('no-such'))).toEqual(refusalOf(400, 'Node definition not found: no-such'))
    const wanting = rowOf('alpine').replace('"x":0', '"x":0,"image_definition":"alpine-99"')
    const { body } = ask('POST', '/import', wanting)
    expect(body).toMatchObject({ warnings: [expect.stringContaining('alpine-99')] })
    expect(ask('GET', `/labs/${Object(body).id}`).body).toMatchObject({
      lab_notes: expect.stringContaining('alpine-99'),
    })
  })

  it('return the exact message that clients expect after they are deleted', async () => {
    const { ask, imported } = await open()
    const lab = imported('server')
    expect(ask('GET', '/labs/nope/state')).toEqual(refusalOf(404, 'Lab not found: nope'))
    expect(ask('GET', `/labs/${lab}/nodes/nope`)).toEqual(refusalOf(404, 'Node not found: nope'))
    expect(ask('GET', `/labs/${lab}/links/nope`)).toEqual(refusalOf(404, 'Link not found: nope'))
    expect(ask('GET', `/labs/${lab}/interfaces/nope`)).toEqual(refusalOf(404, 'Interface not found: nope'))
  })
})

describe('the port mapper', () => {
  it('gives a port that two nodes claim to the first one that started', async () => {
    const { ask, settle, model, id } = await open()
    const tagged = (title: string, ...tags: readonly string[]) => {
      const source = rowOf('server').replace('"x":0', `"x":0,"tags":${JSON.stringify(tags)}`)
      return Object(ask('POST', `/import?title=${title}`, source).body).id
    }
    const [first, second] = [tagged('first', 'serial:2001'), tagged('second', 'serial:2001', 'pat:2002:22')]
    const ports = () =>
      model.cml.nodePorts(id).map(({ port, greeting }) => `${port} ${/lab '(.*?)'/.exec(greeting)?.[1]}`)
    for (const lab of [second, first]) ask('PUT', `/labs/${lab}/start`)
    expect(ports()).toEqual([])
    await settle()
    expect(ports()).toEqual(['2001 second', '2002 second'])
    ask('PUT', `/labs/${second}/stop`)
    await settle()
    expect(ports()).toEqual(['2001 first'])
    model.setAddressing('ports')
    expect(ports()).toEqual([])
  })
})

describe('presets', () => {
  it('decide how servers behave until one of them is changed', async () => {
    const { model, id, patch } = await open({ fail_one_in: 0 })
    const faults = () => model.cml.contextOf(id)?.faults
    expect(faults()).toMatchObject({ logins_per_minute: 60 })
    model.faults.usePreset('hostile')
    expect(faults()).toMatchObject({ fail_one_in: 0, logins_per_minute: 30 })
    patch({ logins_per_minute: 5 })
    expect(faults()).toMatchObject({ logins_per_minute: 5 })
  })
})

describe('one call in three', () => {
  it('fails without any effect', async () => {
    const { ask } = await open({ fail_one_in: 3 })
    const statuses = Array.from({ length: 9 }, () => ask('POST', '/labs', {}).status)
    expect(statuses.filter(status => status === 500)).toHaveLength(3)
    const made = statuses.filter(status => status === 200).length
    const { body } = [ask('GET', '/labs'), ask('GET', '/labs')].find(answer => answer.status === 200) ?? {}
    expect(body).toHaveLength(made)
  })
})

describe('a server that is closed and reopened', () => {
  it('has advanced in the meantime, and knows its sessions, labs and license', async () => {
    const before = await open()
    const lab = before.imported('iosv')
    before.ask('PUT', `/labs/${lab}/start`)
    before.ask('POST', '/licensing/registration', { token: 'good' })
    before.clock.jumpWallClock(5 * MINUTE)
    const model = openSimModel({ seed: 11, clock: before.clock, store: before.store })
    const request = { method: 'GET', query: new URLSearchParams(), token: before.token, body: '' }
    const read = (path: string) => model.cml.call(before.id, { ...request, path })
    expect(read(`/labs/${lab}/state`)).toEqual({ status: 200, body: 'STARTED' })
    expect(JSON.stringify(read(`/labs/${lab}/lab_element_state`).body)).toContain('BOOTED')
    expect(read('/licensing').body).toMatchObject({ authorization: { status: 'IN_COMPLIANCE' } })
    expect(model.cml.smartAccount()).toHaveLength(1)
  })

  it('returns the same ids and times for the same seed and calls', async () => {
    const history = async () => {
      const { ask, imported, settle, model, id } = await open()
      const lab = imported('iosv', 'server')
      ask('PUT', `/labs/${lab}/start`)
      await settle()
      return [lab, model.now(), ask('GET', `/labs/${lab}/events`).body, model.cml.fingerprintOf(id)]
    }
    expect(await history()).toEqual(await history())
  })

  it('changes nothing when the commit fails', async () => {
    const clock = manualClock()
    const store = { ...memorySimStore() }
    const model = openSimModel({ seed: 3, clock, store })
    const { ask } = await bootedCml(model, ms => clock.advance(ms))
    const commit = store.commit
    store.commit = () => {
      throw new Error('disk full')
    }
    expect(() => ask('POST', '/import', rowOf('server'))).toThrow('disk full')
    store.commit = commit
    expect(ask('GET', '/labs').body).toEqual([])
  })
})

describe('a machine that is restarted', () => {
  it('has stopped labs and no sessions, but keeps its license', async () => {
    const { ask, again, imported, settle, restart, toNextChange, states } = await open()
    ask('POST', '/licensing/registration', { token: 'good' })
    const lab = imported('server', 'alpine')
    ask('PUT', `/labs/${lab}/start`)
    await settle()
    await restart()
    while (await toNextChange());
    expect(ask('GET', '/authok').status).toBe(401)
    again()
    expect(ask('GET', `/labs/${lab}/state`).body).toBe('STOPPED')
    expect(states(lab)).toEqual(['STOPPED', 'STOPPED'])
    expect(ask('GET', '/licensing').body).toMatchObject({ registration: { status: 'COMPLETED' } })
    expect(ask('PUT', `/labs/${lab}/start`).status).toBe(204)
    await settle()
    expect(states(lab)).toEqual(['BOOTED', 'BOOTED'])
  })
})

describe('telemetry', () => {
  const categories = (answer: { body?: unknown }) =>
    Object(answer.body).map((event: { category: string }) => event.category)

  it('lists the states of nodes in order, even after their lab is deleted', async () => {
    const { ask, imported, settle, clock } = await open()
    const lab = imported('server')
    for (const act of ['start', 'stop', 'wipe']) {
      ask('PUT', `/labs/${lab}/${act}`)
      await settle()
      await clock.advance(SECOND)
    }
    const seen = [
      ...['import_lab', 'start_lab', 'queue_node', 'start_node', 'boot_node'],
      ...['stop_lab', 'stop_node', 'wipe_node'],
    ]
    const ofLab = (all: readonly string[]) => all.filter(category => category !== 'user_activity')
    expect(ofLab(categories(ask('GET', '/telemetry/events')))).toEqual(seen)
    expect(ask('DELETE', `/labs/${lab}`).status).toBe(204)
    expect(ofLab(categories(ask('GET', '/telemetry/events')))).toEqual(seen)
  })

  it("records LCM's own calls as activity, once a minute", async () => {
    const { ask, clock } = await open()
    const id = ask('GET', '/users/admin/id').body
    for (let minute = 0; minute < 3; minute++) {
      for (let call = 0; call < 5; call++) ask('GET', '/labs')
      await clock.advance(MINUTE)
    }
    const events: readonly object[] = Object(ask('GET', '/telemetry/events').body)
    expect(events.filter(event => 'data' in event && Object(event.data).user_id === id)).toHaveLength(3)
  })

  it('collects nothing when it is turned off', async () => {
    const { ask, imported, clock } = await open()
    await clock.advance(MINUTE)
    expect(ask('PUT', '/telemetry', { opt_in: false }).body).toEqual({ opt_in: false, show_modal: false })
    const before = categories(ask('GET', '/telemetry/events'))
    imported('server')
    expect(categories(ask('GET', '/telemetry/events'))).toEqual(before)
  })

  it('keeps ten thousand events and drops the oldest', async () => {
    const { ask, model, id } = await open()
    const event = (n: number) => ({ category: 'import_lab', at_ms: n, data: { n } })
    for (let batch = 0; batch < 11; batch++) {
      const events = Array.from({ length: 1000 }, (_, n) => event(batch * 1000 + n))
      model.cml.act(id, () => ({ status: 204, change: { events } }))
    }
    const kept: readonly { data: { n?: number } }[] = Object(ask('GET', '/telemetry/events').body)
    expect(kept.length).toBeGreaterThan(9000)
    expect(kept.length).toBeLessThanOrEqual(10_000)
    expect(kept.some(one => one.data.n === 10_999)).toBe(true)
    expect(kept.some(one => one.data.n === 0)).toBe(false)
  })
})

describe('the Smart Account', () => {
  it('still counts a machine that was terminated with its license', async () => {
    const { ask, settle, model, id, toNextChange, clock } = await open()
    ask('POST', '/licensing/registration', { token: 'good' })
    expect(model.cml.smartAccount()).toEqual([])
    await settle()
    const udi = Object(ask('GET', '/licensing').body).udi
    model.ec2.terminateInstances(SIM_COMPUTE_SETUP.region, { ids: [id] })
    while (await toNextChange());
    await clock.advance(24 * 60 * MINUTE)
    expect(model.machine(id)).toBeNull()
    expect(model.cml.smartAccount()).toMatchObject([{ ...udi, product: 'CML_Enterprise', instance_id: id }])
  })

  it('counts the requested nodes, and a license that was left in use', async () => {
    const { ask, settle, model, patch } = await open()
    ask('POST', '/licensing/registration', { token: 'good' })
    await settle()
    const [, feature] = Object(ask('GET', '/licensing/features').body)
    expect(ask('PATCH', '/licensing/features', [{ id: feature.id, count: 501 }]).status).toBe(400)
    expect(ask('PATCH', '/licensing/features', [{ id: feature.id, count: 12 }]).status).toBe(204)
    expect(model.cml.smartAccount()).toMatchObject([{ extra_nodes: 12, left_behind: false }])
    expect(ask('GET', '/diagnostics/licensing').body).toMatchObject({ quota: 32 })
    patch({ license_server: 'not_reached' })
    expect(ask('DELETE', '/licensing/deregistration')).toEqual({ status: 202 })
    expect(model.cml.smartAccount()).toMatchObject([{ left_behind: true }])
    expect(ask('DELETE', '/licensing/deregistration')).toEqual({ status: 400 })
  })

  it('is reached by a pending registration as soon as the connection works', async () => {
    const { ask, settle, model, id, patch } = await open({ license_server: 'not_reached' })
    ask('POST', '/licensing/registration', { token: 'good' })
    await settle()
    const status = () => Object(ask('GET', '/licensing').body).registration.status
    expect(status()).toBe('RETRY_IN_PROGRESS')
    patch({})
    const body = JSON.stringify({ license_server: 'reached' })
    cmlControl(model)({ method: 'PATCH', url: `/sim/v1/instances/${id}/cml/faults`, body })
    expect(status()).toBe('IN_PROGRESS')
    await settle()
    expect(status()).toBe('COMPLETED')
  })
})

describe('a server of 2.11', () => {
  it('reports more about itself and returns the whole licensing status', async () => {
    const { ask, settle } = await open({ version: '2.11.0+sso' })
    expect(Object.keys(Object(ask('GET', '/system_information').body))).toEqual(
      expect.arrayContaining(['timeout', 'features']),
    )
    const asked = ask('POST', '/licensing/registration', { token: 'good' })
    expect(asked).toMatchObject({ status: 200, body: { registration: { status: 'IN_PROGRESS' } } })
    await settle()
    expect(ask('PATCH', '/licensing/transport', { ssms: null, proxy: { server: null, port: null } }).status).toBe(200)
    expect(ask('DELETE', '/licensing/deregistration')).toMatchObject({
      status: 200,
      body: { registration: { status: 'NOT_REGISTERED' } },
    })
  })

  it('differs from 2.9, which returns fixed members and has no such PATCH', async () => {
    const { ask } = await open()
    expect(Object.keys(Object(ask('GET', '/system_information').body))).toEqual([
      'version',
      'ready',
      'allow_ssh_pubkey_auth',
      'oui',
    ])
    expect(ask('PATCH', '/licensing/transport', {})).toEqual(refusalOf(405, '405: Method Not Allowed'))
  })
})

describe('users without admin rights', () => {
  it('see only their own labs, and nothing during maintenance', async () => {
    const { ask, as, login, imported } = await open()
    const foreign = imported('server')
    expect(ask('POST', '/users', { username: 'ann', password: 'ann-is-here' }).status).toBe(201)
    expect(ask('POST', '/users', { username: 'ann', password: 'ann-is-here' }).status).toBe(422)
    const ann = as(String(login('ann', 'ann-is-here').body))
    expect(ann('GET', '/labs?show_all=true').body).toEqual([])
    expect(ann('GET', `/labs/${foreign}`)).toEqual(refusalOf(404, `Lab not found: ${foreign}`))
    expect(ann('GET', '/licensing')).toEqual(refusalOf(403, expect.stringContaining('required access')))
    ask('PATCH', '/system/maintenance_mode', { maintenance_mode: true })
    expect(ann('GET', '/labs').status).toBe(403)
    expect(ask('GET', '/labs').status).toBe(200)
  })
})
