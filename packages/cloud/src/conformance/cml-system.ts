import { CML_STAGES, type CmlStage } from '@lcm/domain/worker/boot-stages'
import { describe, expect, it } from 'vitest'
import { refusedPart } from '../cml-access-tracker.ts'
import type { CmlLogin } from '../cml-login.ts'
import type { CmlLicensing } from '../cml-system.ts'
import {
  bootAndLogIn,
  type CmlServerFixture,
  cmlServerPerTest,
  eventually,
  expectRefusal,
  type GetCmlServer,
  never,
  OTHER_PIN,
  probe,
  topologyOf,
} from './cml-server-fixture.ts'

/** Cases that every adapter of the CML System port must pass. */
export function cmlSystemConformance(name: string, open: () => Promise<CmlServerFixture>): void {
  describe(`the CML system API on ${name}`, () => {
    const server = cmlServerPerTest(open)
    describe('booting', () => booting(server))
    describe('pinning', () => pinning(server))
    describe('cancellation', () => givingUp(server))
    describe('reports', () => telling(server))
    describe('sessions', () => sessions(server))
    describe('licensing', () => licensing(server))
    describe('returning a license', () => deregistering(server))
  })
}

/** All stages until nothing changes any more, without consecutive repeats. */
async function stagesUntilStill(server: CmlServerFixture): Promise<readonly CmlStage[]> {
  const stages: CmlStage[] = []
  do {
    const { stage } = await probe(server)
    if (stages.at(-1) !== stage) stages.push(stage)
  } while (await server.toNextChange())
  return stages
}

function booting(server: GetCmlServer): void {
  it('shows a first boot step by step, with one false READY before the reboot', async () => {
    const once = CML_STAGES
    expect(await stagesUntilStill(server())).toEqual([...once, ...once])
  })

  it('reports version and certificate of a ready server, and no obstacle', async () => {
    await bootAndLogIn(server())
    const ready = await probe(server())
    expect(ready).toMatchObject({ stage: 'READY', version: '2.9.1+build.7', detail: '' })
    expect(ready.certificate_sha256).toMatch(/^[0-9a-f]{64}$/)
  })

  it('reports the obstacle while it is not ready', async () => {
    const early = await probe(server())
    expect(early).toMatchObject({ stage: 'NOTHING', version: null, certificate_sha256: null })
    expect(early.detail).not.toBe('')
  })
}

function pinning(server: GetCmlServer): void {
  it('works with the pinned certificate, also after a restart at a new address', async () => {
    const { certificate_sha256, url } = await bootAndLogIn(server())
    await server().restart()
    expect(await stagesUntilStill(server())).toEqual(CML_STAGES)
    expect(server().endpoint()).not.toBe(url)
    expect(await probe(server(), certificate_sha256)).toMatchObject({ stage: 'READY', certificate_sha256 })
  })

  it('sends no request to a server with another certificate', async () => {
    const { certificate_sha256 } = await bootAndLogIn(server())
    const refused = await probe(server(), OTHER_PIN)
    expect(refused).toMatchObject({ stage: 'TLS', version: null, certificate_sha256 })
    expect(refused.detail).toContain(OTHER_PIN)
  })

  it('sends no password to a server with another certificate', async () => {
    const login = { ...(await bootAndLogIn(server())), certificate_sha256: OTHER_PIN, password: 'wrong' }
    // A server that had seen this password would have rejected it.
    await expectRefusal(server().cml.stats(login, never()), 'transient')
    await expectRefusal(server().cml.deregister(login, never()), 'transient')
  })
}

function givingUp(server: GetCmlServer): void {
  it('returns a probe even when its signal has aborted or the address is invalid', async () => {
    const { url } = await bootAndLogIn(server())
    const { cml } = server()
    expect((await cml.probe({ url, certificate_sha256: null }, AbortSignal.abort())).stage).toBe('NOTHING')
    const nonsense = await cml.probe({ url: 'no address', certificate_sha256: null }, never())
    expect(nonsense.stage).toBe('NOTHING')
  })

  it('fails other calls when the signal has aborted, the address is invalid or no server listens', async () => {
    const login = await bootAndLogIn(server())
    const { cml } = server()
    await expectRefusal(cml.stats(login, AbortSignal.abort()), 'transient')
    await expectRefusal(cml.health({ ...login, url: 'no address' }, never()), 'transient')
    await expectRefusal(cml.licensing({ ...login, url: 'https://127.0.0.1:1' }, never()), 'transient')
  })
}

function telling(server: GetCmlServer): void {
  it('reports the load of the machine', async () => {
    const login = await bootAndLogIn(server())
    const idle = await server().cml.stats(login, never())
    expect(idle).toMatchObject({ running_nodes: 0, running_orphans: 0 })
    expect(idle.cpu_count).toBeGreaterThan(0)
    expect(idle.memory_total_bytes).toBeGreaterThan(2 ** 30)
    expect(idle.disk_total_bytes).toBeGreaterThan(2 ** 30)
    for (const share of [idle.cpu_utilization, idle.memory_utilization, idle.disk_utilization]) {
      expect(share).toBeGreaterThanOrEqual(0)
      expect(share).toBeLessThanOrEqual(1)
    }
    await runLab(server(), login)
    expect(await server().cml.stats(login, never())).toMatchObject({ running_nodes: 2 })
  })

  it('reports health and node definitions', async () => {
    const login = await bootAndLogIn(server())
    const health = await server().cml.health(login, never())
    expect(health).toMatchObject({ valid: true, is_licensed: false })
    expect(health.computes).toHaveLength(1)
    expect(health.computes[0]).toMatchObject({ is_controller: true, kvm_vmx_enabled: true, admission_state: 'READY' })
    const definitions = await server().cml.nodeDefinitions(login, never())
    expect(definitions).toEqual(expect.arrayContaining(['alpine', 'iosv', 'server']))
    expect(definitions).toEqual([...definitions].sort())
  })

  it('reports user activity and our own user', async () => {
    const login = await bootAndLogIn(server())
    await server().setTelemetry(true)
    await runLab(server(), login)
    const activity = await server().cml.activity(login, never())
    expect(activity.is_collected).toBe(true)
    expect(activity.own_user_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(activity.events.map(event => event.category)).toEqual(expect.arrayContaining(['import_lab', 'start_lab']))
    const byUs = activity.events.find(event => event.category === 'user_activity')
    expect(byUs?.user_id).toBe(activity.own_user_id)
    const started = activity.events.find(event => event.category === 'start_node')
    expect(started).toMatchObject({ user_id: null, lab_id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    for (const { at } of activity.events) expect(at).toBe(new Date(at).toISOString())
  })

  it('concludes nothing about activity without telemetry', async () => {
    const login = await bootAndLogIn(server())
    await server().setTelemetry(false)
    expect(await server().cml.activity(login, never())).toMatchObject({ is_collected: false, events: [] })
  })
}

function sessions(server: GetCmlServer): void {
  it('rejects a wrong password and an unknown user, and accepts the right ones', async () => {
    const login = await bootAndLogIn(server())
    const { cml } = server()
    const refusal = await expectRefusal(cml.stats({ ...login, password: 'Never-This-One' }, never()), 'auth')
    expect(refusal.message).not.toContain('Never-This-One')
    expect(refusedPart(refusal, 'system_stats')).toBe('login')
    await expectRefusal(cml.stats({ ...login, username: 'unknown' }, never()), 'auth')
    expect(await cml.stats(login, never())).toMatchObject({ running_nodes: 0 })
  })

  it('tells a rejected call from a rejected login', async () => {
    const login = await bootAndLogIn(server())
    const { cml } = server()
    await server().setRefusedPaths(['/telemetry', '/system_stats'])
    const telemetry = await expectRefusal(cml.activity(login, never()), 'auth')
    expect(refusedPart(telemetry, 'telemetry')).toBe('telemetry')
    const stats = await expectRefusal(cml.stats(login, never()), 'auth')
    expect(refusedPart(stats, 'system_stats')).toBe('system_stats')
    expect(await cml.health(login, never())).toMatchObject({ valid: true })
    await server().setRefusedPaths([])
    expect(await cml.stats(login, never())).toMatchObject({ running_nodes: 0 })
  })

  it('logs in again when the server has forgotten the session', async () => {
    const login = await bootAndLogIn(server())
    const before = await server().cml.licensing(login, never())
    await server().forgetSessions()
    expect(await server().cml.licensing(login, never())).toEqual(before)
    await server().forgetSessions()
    await server().cml.register(login, enterprise(server().tokens.good), never())
  })
}

const enterprise = (token: string) => ({ product: 'CML_Enterprise', token, extra_nodes: 30 })

function licensing(server: GetCmlServer): void {
  it('registers: accepted at once, complete and in compliance later', async () => {
    const login = await bootAndLogIn(server())
    const { cml, tokens } = server()
    const fresh = await cml.licensing(login, never())
    expect(fresh).toMatchObject({ registration: 'NOT_REGISTERED', failure: null })
    expect(fresh.udi?.product_uuid).toMatch(/^[0-9a-f-]{36}$/i)
    await cml.register(login, enterprise(tokens.good), never())
    expect(await cml.licensing(login, never())).toMatchObject({ registration: 'IN_PROGRESS' })
    const done = await licensingWith(server(), login, seen => seen.authorization === 'IN_COMPLIANCE')
    expect(done).toMatchObject({ registration: 'COMPLETED', failure: null, product: 'CML_Enterprise', udi: fresh.udi })
    expect(await cml.health(login, never())).toMatchObject({ is_licensed: true, is_enterprise: true })
    expect(await server().labs.nodeQuota(login, never())).toEqual({ quota: 50, started: 0 })
  })

  it('accepts a product that is already active', async () => {
    const login = await bootAndLogIn(server())
    const { cml, tokens } = server()
    await registered(server(), login)
    await cml.deregister(login, never())
    expect(await cml.licensing(login, never())).toMatchObject({ product: 'CML_Enterprise' })
    await cml.register(login, enterprise(tokens.good), never())
    await licensingWith(server(), login, seen => seen.registration === 'COMPLETED')
  })

  it('reports why a token was rejected', async () => {
    const login = await bootAndLogIn(server())
    await server().cml.register(login, enterprise(server().tokens.bad), never())
    const failed = await licensingWith(server(), login, seen => seen.registration === 'FAILED')
    expect(failed.failure).toMatch(/\w/)
    expect(failed.authorization).not.toBe('IN_COMPLIANCE')
  })

  it('rejects a registration while another one runs', async () => {
    const login = await bootAndLogIn(server())
    const { cml, tokens } = server()
    await cml.register(login, enterprise(tokens.good), never())
    await expectRefusal(cml.register(login, enterprise(tokens.good), never()), 'state')
    await licensingWith(server(), login, seen => seen.registration === 'COMPLETED')
  })

  it('rejects an unknown product with the message of CML', async () => {
    const login = await bootAndLogIn(server())
    const request = { ...enterprise(server().tokens.good), product: 'No_Such_Product' }
    await expectRefusal(server().cml.register(login, request, never()), 'invalid')
    expect(await server().cml.licensing(login, never())).toMatchObject({ registration: 'NOT_REGISTERED' })
  })
}

function deregistering(server: GetCmlServer): void {
  it('returns a license once', async () => {
    const login = await bootAndLogIn(server())
    const { cml } = server()
    expect(await cml.deregister(login, never())).toBe('not_registered')
    await registered(server(), login)
    expect(await cml.deregister(login, never())).toBe('returned')
    expect(await cml.licensing(login, never())).toMatchObject({ registration: 'NOT_REGISTERED' })
    expect(await cml.deregister(login, never())).toBe('not_registered')
  })

  it('reports when the Smart Account still counts the license', async () => {
    const login = await bootAndLogIn(server())
    const { cml } = server()
    await registered(server(), login)
    await server().setSmartAccountReachable(false)
    expect(await cml.deregister(login, never())).toBe('left_behind')
    expect(await cml.licensing(login, never())).toMatchObject({ registration: 'NOT_REGISTERED' })
  })

  it('is rejected while labs run', async () => {
    const login = await bootAndLogIn(server())
    const { cml, labs } = server()
    await registered(server(), login)
    const labId = await runLab(server(), login)
    await expectRefusal(cml.deregister(login, never()), 'state')
    expect(await cml.licensing(login, never())).toMatchObject({ registration: 'COMPLETED' })
    await labs.stop(login, labId, never())
    await eventually(
      server(),
      () => labs.get(login, labId, never()),
      lab => lab.state === 'STOPPED',
    )
    expect(await cml.deregister(login, never())).toBe('returned')
  })
}

function licensingWith(
  server: CmlServerFixture,
  login: CmlLogin,
  isAwaited: (seen: CmlLicensing) => boolean,
): Promise<CmlLicensing> {
  return eventually(server, () => server.cml.licensing(login, never()), isAwaited)
}

async function registered(server: CmlServerFixture, login: CmlLogin): Promise<void> {
  await server.cml.register(login, enterprise(server.tokens.good), never())
  await licensingWith(server, login, seen => seen.authorization === 'IN_COMPLIANCE')
}

/** A lab of two booted nodes. */
async function runLab(server: CmlServerFixture, login: CmlLogin): Promise<string> {
  const { labs } = server
  const { lab_id } = await labs.import(login, { title: 'running', topology: topologyOf(2) }, never())
  await labs.start(login, lab_id, never())
  const converged = () => labs.isConverged(login, lab_id, never())
  await eventually(server, converged, isConverged => isConverged)
  return lab_id
}
