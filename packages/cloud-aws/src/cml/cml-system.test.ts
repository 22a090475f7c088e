import { refusedPart } from '@lcm/cloud/cml-access-tracker'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import type { CmlPart } from '@lcm/domain/worker/observation'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { cmlSystemClient } from './cml-system.ts'
import { atEnd, closeAll, refused, type StubAnswer, type StubRequest, stubCml, USER_ID } from './testing/stub-cml.ts'

afterEach(closeAll)

const never = () => new AbortController().signal

type Answers = Readonly<Record<string, StubAnswer | ((request: StubRequest) => StubAnswer)>>

/** A server that responds by `method path`. */
async function server(answers: Answers) {
  const stub = await stubCml(request => {
    const answer = answers[`${request.method} ${request.path}`]
    return typeof answer === 'function' ? answer(request) : answer
  })
  const clock = manualClock()
  const cml: CmlSystem & { close(): Promise<void> } = cmlSystemClient({ clock })
  atEnd(() => cml.close())
  return { ...stub, clock, cml }
}

const ok = (json: unknown): StubAnswer => ({ status: 200, json })
const DONE: StubAnswer = { status: 204 }

describe('the stats of a server', () => {
  const host = (count: number, percent: number, dominfo: unknown) => ({
    hostname: 'cml',
    is_controller: true,
    stats: {
      cpu: { count, percent, model: 'Xeon', predicted: 43, load: [1, 2, 3] },
      memory: { used: 4_000, free: 1_000, total: 16_000 },
      disk: { used: 10_000, free: 30_000, total: 40_000 },
      dominfo,
    },
  })

  it('are those of all hosts together, as fractions', async () => {
    const computes = {
      a: host(30, 10, { running_nodes: 3, running_orphans: 1, total_nodes: 5 }),
      b: host(10, 50, { running_nodes: 2, running_orphans: null }),
    }
    const { cml, login } = await server({ 'GET /system_stats': ok({ computes, all: {}, controller: {} }) })
    expect(await cml.stats(login, never())).toEqual({
      cpu_count: 40,
      cpu_utilization: 0.2,
      memory_utilization: 0.25,
      disk_utilization: 0.25,
      memory_total_bytes: 32_000,
      disk_total_bytes: 80_000,
      running_nodes: 5,
      running_orphans: 1,
    })
  })

  it('are null when they are not reported, never zero', async () => {
    const { cml, login } = await server({ 'GET /system_stats': ok({ computes: { a: { stats: { cpu: null } } } }) })
    expect(new Set(Object.values(await cml.stats(login, never())))).toEqual(new Set([null]))
  })

  it('are between 0 and 1 for any response', async () => {
    const odd = { cpu: { count: 0, percent: 250 }, memory: { used: 9, total: 3 }, disk: { used: 5, total: 0 } }
    const { cml, login } = await server({ 'GET /system_stats': ok({ all: odd }) })
    const stats = await cml.stats(login, never())
    expect(stats).toMatchObject({ cpu_utilization: 1, memory_utilization: 1, disk_utilization: null })
  })
})

it('reads the health of a server and of its hosts, in any version', async () => {
  const compute = { kvm_vmx_enabled: false, enough_cpus: true, hostname: 'cml', admission_state: 'READY', valid: false }
  const answer = { valid: false, is_licensed: null, is_enterprise: true, computes: { a: compute }, controller: {} }
  const { cml, login } = await server({ 'GET /system_health': ok({ ...answer, added_later: { cpu_overload: true } }) })
  expect(await cml.health(login, never())).toEqual({
    valid: false,
    is_licensed: null,
    is_enterprise: true,
    computes: [{ ...compute, is_controller: null, refplat_images_available: null }],
  })
})

it('names the node definitions in order', async () => {
  const { cml, login } = await server({ 'GET /simplified_node_definitions': ok([{ id: 'iosv' }, { id: 'alpine' }]) })
  expect(await cml.nodeDefinitions(login, never())).toEqual(['alpine', 'iosv'])
})

const UUID = '564d5ab2-1f2b-4d3c-8f0a-0123456789ab'
const licensing = (about: { status?: string; failure?: string; active?: string; udi?: unknown }) => ({
  udi: about.udi ?? { hostname: 'cml', product_uuid: UUID },
  registration: {
    status: about.status ?? 'NOT_REGISTERED',
    register_time: { failure: about.failure ?? 'OK', success: about.failure ? 'FAILED' : 'SUCCESS' },
  },
  authorization: { status: 'EVAL', expires: '2026-08-20 17:25:30' },
  features: [{ id: 'regid.x.CML_ENT_BASE,1' }, { id: 'regid.2099-01.com.cisco.CML_NODE_COUNT,2.0_new', max: 500 }],
  product_license: { active: about.active ?? 'CML_Personal', is_enterprise: false },
})
const unregistered = ok(licensing({}))

describe('a call that the server rejects', () => {
  const page = (status: number): StubAnswer => ({
    status,
    text: '<html>no</html>',
    headers: { 'content-type': 'text/html' },
  })
  it.each<[string, StubAnswer, CmlPart | null]>([
    ['403 in the words of CML', refused(403, 'User does not have required access: admin'), 'telemetry'],
    ['404 in the words of CML: it has no such call', refused(404, 'Not Found'), 'telemetry'],
    ['410 in the words of CML', refused(410, 'Gone'), 'telemetry'],
    ['401 to every session', refused(401, 'Invalid token'), 'telemetry'],
    ['403 of a gateway', page(403), null],
    ['404 of a gateway', page(404), null],
    ['502 of a gateway', page(502), null],
    ['409: not now', refused(409, 'Busy'), null],
    ['429: later', refused(429, 'Slow down'), null],
    ['500 in the words of CML', refused(500, 'Internal error'), null],
  ])('%s', async (_, answer, part) => {
    const { cml, login } = await server({ 'GET /telemetry': answer })
    const error = await cml.activity(login, never()).catch(each => each)
    expect(error).toBeInstanceOf(CloudError)
    expect(refusedPart(error, 'telemetry')).toBe(part)
  })

  it('is a rejected login when it gets no session', async () => {
    const { cml, login } = await server({ 'POST /auth_extended': refused(403, 'Authentication failed!') })
    const error = await cml.activity(login, never()).catch(each => each)
    expect([refusedPart(error, 'telemetry'), error.words]).toEqual(['login', 'Authentication failed!'])
  })
})

describe('the license of a server', () => {
  it("is reported in CML's own terms", async () => {
    const { cml, login } = await server({ 'GET /licensing': ok(licensing({ status: 'COMPLETED' })) })
    expect(await cml.licensing(login, never())).toEqual({
      registration: 'COMPLETED',
      authorization: 'EVAL',
      failure: null,
      udi: { hostname: 'cml', product_uuid: UUID },
      product: 'CML_Personal',
    })
  })

  it.each([
    [`hostname: cml-1.lab, product_uuid: ${UUID}`, { hostname: 'cml-1.lab', product_uuid: UUID }],
    ['PID:CML,SN:7', { hostname: '', product_uuid: 'PID:CML,SN:7' }],
    [null, { hostname: 'cml', product_uuid: UUID }],
    [{}, null],
  ])('may name the machine as %j', async (udi, expected) => {
    const { cml, login } = await server({ 'GET /licensing': ok(licensing({ udi })) })
    expect((await cml.licensing(login, never())).udi).toEqual(expected)
  })

  it('reports why it failed, without the token', async () => {
    const token = 'short-token'
    const unknownToken = 'NGY4ZjQ2ZDQtZmJm'.repeat(4)
    const failure = `The token '${token}' or '${unknownToken}' is not valid.`
    const { cml, login } = await server({
      'GET /licensing': ok(licensing({ status: 'FAILED', failure })),
      'POST /licensing/registration': DONE,
    })
    await cml.register(login, { product: null, token, extra_nodes: null }, never())
    expect((await cml.licensing(login, never())).failure).toBe("The token '***' or '***' is not valid.")
  })

  it('is rejected when the response is incomplete', async () => {
    const { cml, login } = await server({
      'GET /licensing': ok({ registration: {}, authorization: { status: 'INIT' } }),
    })
    await expect(cml.licensing(login, never())).rejects.toMatchObject({
      errorClass: 'transient',
      code: 'MalformedAnswer',
    })
  })
})

describe('registering', () => {
  const request = { product: 'CML_Enterprise', token: 'a-token', extra_nodes: 40 }
  const bodies = (requests: readonly StubRequest[], path: string) =>
    requests.filter(each => each.path === path).map(({ body }) => JSON.parse(body))

  it.each([
    ['2.9', DONE],
    ['2.11', ok(licensing({ status: 'IN_PROGRESS' }))],
    ['2.11, later', { status: 202, json: licensing({ status: 'IN_PROGRESS' }) }],
  ])('reads first, then sets product, token and count, in the answers of %s', async (_version, taken) => {
    const { cml, login, requests, asked } = await server({
      'GET /licensing': unregistered,
      'PUT /licensing/product_license': taken,
      'POST /licensing/registration': taken,
      'PATCH /licensing/features': taken,
    })
    await cml.register(login, request, never())
    expect(asked()).toEqual([
      'GET /licensing',
      'PUT /licensing/product_license',
      'POST /licensing/registration',
      'PATCH /licensing/features',
    ])
    expect(bodies(requests, '/licensing/product_license')).toEqual(['CML_Enterprise'])
    expect(bodies(requests, '/licensing/registration')).toEqual([{ token: 'a-token', reregister: false }])
    const [count] = bodies(requests, '/licensing/features')
    expect(count).toEqual([{ id: 'regid.2099-01.com.cisco.CML_NODE_COUNT,2.0_new', count: 40 }])
  })

  it('keeps a product that is active already, and sets nodes for Enterprise only', async () => {
    const { cml, login, asked } = await server({ 'GET /licensing': unregistered, 'POST /licensing/registration': DONE })
    await cml.register(login, { ...request, product: 'CML_Personal' }, never())
    expect(asked()).toEqual(['GET /licensing', 'POST /licensing/registration'])
  })

  it('succeeds if another client has set the product in between', async () => {
    let active = 'CML_Personal'
    const { cml, login, asked } = await server({
      'GET /licensing': () => ok(licensing({ active })),
      'PUT /licensing/product_license': () => {
        active = 'CML_Enterprise'
        return refused(400, 'Product license is already active')
      },
      'POST /licensing/registration': DONE,
      'PATCH /licensing/features': DONE,
    })
    await cml.register(login, request, never())
    expect(asked()).toContain('POST /licensing/registration')
  })

  it('stops when CML rejects a step', async () => {
    const { cml, login, asked } = await server({
      'GET /licensing': unregistered,
      'PUT /licensing/product_license': refused(400, 'Unknown product: CML_Enterprise'),
    })
    const refusal = { errorClass: 'invalid', message: expect.stringContaining('Unknown product: CML_Enterprise') }
    await expect(cml.register(login, request, never())).rejects.toMatchObject(refusal)
    expect(asked()).not.toContain('POST /licensing/registration')
  })
})

describe('returning a license', () => {
  it.each([
    ['done', DONE, 'returned'],
    ['done, as 2.11 says it', ok(licensing({})), 'returned'],
    ['done here only', { status: 202 }, 'left_behind'],
    ['done here only, as 2.11 says it', { status: 202, json: licensing({}) }, 'left_behind'],
    ['nothing to give', { status: 400, text: '' }, 'not_registered'],
  ] as const)('is %s', async (_name, answer, expected) => {
    const { cml, login } = await server({ 'DELETE /licensing/deregistration': answer, 'GET /licensing': unregistered })
    expect(await cml.deregister(login, never())).toBe(expected)
  })

  it('is not complete while the server still reports that it is registered', async () => {
    const { cml, login } = await server({
      'DELETE /licensing/deregistration': refused(400, 'Cannot deregister'),
      'GET /licensing': ok(licensing({ status: 'COMPLETED' })),
    })
    await expect(cml.deregister(login, never())).rejects.toMatchObject({ errorClass: 'invalid', code: 'HTTP400' })
  })

  it('is rejected for now', async () => {
    const { cml, login } = await server({ 'DELETE /licensing/deregistration': refused(409, 'Labs are running') })
    await expect(cml.deregister(login, never())).rejects.toMatchObject({ errorClass: 'state' })
  })

  it('may take 75 s', async () => {
    const { cml, login, clock, until, requests } = await server({ 'DELETE /licensing/deregistration': 'hang' })
    const call = cml.deregister(login, never())
    const end = expect(call).rejects.toMatchObject({ errorClass: 'transient', code: 'TimeoutError' })
    await until(() => requests.some(({ method }) => method === 'DELETE'))
    await clock.advance(74_999)
    expect(clock.timersLeft()).toBeGreaterThan(0)
    await clock.advance(1)
    await end
  })
})

describe('activity on a server', () => {
  const event = (timestamp: unknown) => ({ category: 'user_activity', timestamp, data: { user_id: 'u1' } })

  it('has its timestamps in one format', async () => {
    const { cml, login } = await server({
      'GET /telemetry': ok({ opt_in: true, show_modal: false }),
      'GET /telemetry/events': ok([
        event('2026-01-02T03:04:05.123456+00:00'),
        event('2026-01-02 03:04:05'),
        event('2026-01-02T03:04:05'),
        event('2026-01-02T05:04:05+0200'),
        { category: 'running_nodes', timestamp: '2026-01-02T03:04:05Z', data: null },
        { category: 'wipe_node', timestamp: '2026-01-02T03:04:05Z', data: { lab_id: 'lab-1', node_id: 'n-1' } },
      ]),
    })
    const { events, ...rest } = await cml.activity(login, never())
    expect(rest).toEqual({ own_user_id: USER_ID, is_collected: true })
    expect(events.map(({ at }) => at.slice(0, 19))).toEqual(Array(6).fill('2026-01-02T03:04:05'))
    expect(events.map(({ user_id }) => user_id)).toEqual(['u1', 'u1', 'u1', 'u1', null, null])
    expect(events.at(-1)?.lab_id).toBe('lab-1')
  })

  it.each([false, null])('is not collected when the choice is %s', async opt_in => {
    const { cml, login, asked } = await server({ 'GET /telemetry': ok({ opt_in, show_modal: true }) })
    expect(await cml.activity(login, never())).toMatchObject({ is_collected: false, events: [] })
    expect(asked()).toEqual(['GET /telemetry'])
  })

  it.each(['yesterday', '', null, 7, '2026-13-45T00:00:00Z'])('is rejected with an event of %j', async moment => {
    const { cml, login } = await server({
      'GET /telemetry': ok({ opt_in: true }),
      'GET /telemetry/events': ok([event('2026-01-02T03:04:05Z'), event(moment)]),
    })
    await expect(cml.activity(login, never())).rejects.toMatchObject({
      errorClass: 'transient',
      code: 'MalformedAnswer',
    })
  })
})

it('probes at most two hundred servers at once; those that wait keep their three seconds', async () => {
  const { cml, login, clock, requests, until } = await server({ 'GET /system_information': 'hang' })
  let ended = 0
  const counted = async () => {
    const seen = await cml.probe(login, never())
    ended += 1
    return seen
  }
  const probes = Array.from({ length: 210 }, counted)
  await until(() => requests.length === 200)
  await clock.advance(3_000)
  await until(() => requests.length === 210)
  expect(ended).toBe(200)
  await clock.advance(3_000)
  const details = (await Promise.all(probes)).map(({ stage, detail }) => `${stage} ${detail}`)
  expect(details).toEqual(Array(210).fill('TLS no answer within 3000 ms'))
})
