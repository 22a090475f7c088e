import { TAG } from '@lcm/domain/worker/ec2-instance'
import { CONDITION } from '@lcm/domain/worker/worker'
import { expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { CML_LOGIN } from '../world/planted-secrets.ts'
import { aStory } from './story-fixture.ts'

/** A foreign machine that serves CML and would accept the fleet password. */
async function withStranger(seed: number) {
  const story = await aStory(seed)
  const stranger = story.manual.plant({ [TAG.fleet]: 'another-fleet' })
  const { world } = story
  await world.untilTrue('its CML', () => world.cloud.machine(stranger)?.stage === 'READY')
  const endpoint = world.cloud.machine(stranger)?.endpoint ?? ''
  const ignored = async (id: string) =>
    (await world.worker(id)).conditions.filter(({ type, status }) => type === CONDITION.endpointIgnored && status)
  return { ...story, endpoint, ignored }
}

it('a machine tagged with a foreign endpoint before its first contact is reached at its own address', async () => {
  const { world, operator, manual, endpoint, ignored, done } = await withStranger(931)
  const id = await operator.create('metal-1', { license: { product: 'CML_Enterprise', token: 'token-of-the-account' } })
  await world.until(id, 'PROVISIONING')
  const machine = await manual.machineOf(id)
  await world.runFor(2_000)
  manual.tag(machine, { [TAG.endpoint]: endpoint })
  const { https_endpoint, public_ip } = await world.until(id, 'RUNNING')
  expect(https_endpoint).toBe(`https://${public_ip}`)
  expect(await ignored(id)).toHaveLength(1)
  await world.untilTrue('licensed', () => world.workers().some(({ license }) => license.status === 'REGISTERED'))
  expect(manual.seats()).toEqual([machine])
  manual.untag(machine, TAG.endpoint)
  await world.runFor(5 * MINUTE_MS)
  expect(await ignored(id)).toEqual([])
  await done()
})

it('a tag on a known worker does not change its endpoint and is reported once', async () => {
  const { world, operator, manual, endpoint, ignored, done } = await withStranger(932)
  const { id, https_endpoint } = await operator.createAndRun('metal-1')
  manual.tag(await manual.machineOf(id), { [TAG.endpoint]: endpoint })
  await world.runFor(HOUR_MS)
  const worker = await world.worker(id)
  expect(worker).toMatchObject({ status: 'RUNNING', service_status: 'AVAILABLE' })
  expect(worker.https_endpoint).toBe(https_endpoint?.replace(':8443', ''))
  expect(await ignored(id)).toHaveLength(1)
  const decisions = (await operator.decisions(id)).filter(({ because }) => because.code === 'endpoint_tag_ignored')
  expect(decisions).toHaveLength(1)
  await done()
})

it('a discovered machine gets no credentials before its approval, not even its own', async () => {
  const { world, operator, manual, done } = await aStory(933)
  await operator.set({ idle_timeout_seconds: 900, min_workers: 0 })
  const machine = manual.plant({ [TAG.discovery]: 'true' })
  await world.untilTrue('found', () => world.workers().length === 1, 20 * MINUTE_MS)
  const [{ id } = { id: '' }] = world.workers()
  await world.until(id, 'RUNNING')
  await world.runFor(3 * HOUR_MS)
  const alone = await world.worker(id)
  expect(alone).toMatchObject({ status: 'RUNNING', service_status: 'UNAVAILABLE', cml: { node_definitions: [] } })
  expect(alone.cml).toMatchObject({ certificate_sha256: null, seen_certificate_sha256: expect.any(String) })
  await expect(operator.license(id)).rejects.toThrow('LCM did not launch')
  await operator.setCredentials(id, CML_LOGIN)
  await world.runFor(10 * MINUTE_MS)
  expect((await world.worker(id)).cml.node_definitions).toEqual([])
  await operator.approve(id, { fingerprint: alone.cml.seen_certificate_sha256 ?? '' })
  manual.useServer(machine)
  await world.runFor(10 * MINUTE_MS)
  const known = await world.worker(id)
  expect(known.cml.node_definitions).not.toEqual([])
  expect(known.license.status).toBe('UNREGISTERED')
  await world.untilTrue('idle', () => world.workers()[0]?.desired_status === 'STOPPED', 4 * HOUR_MS)
  await done()
})

it('a machine that an attacker launched with a launch token of LCM gets no secret', async () => {
  const { world, operator, manual, done } = await aStory(934)
  const places = ['us-east-1a', 'us-east-1b'].flatMap(zone => ['m5zn.metal', 'm5.metal'].map(type => ({ zone, type })))
  for (const { zone, type } of places) manual.setCapacity(zone, type, 0)
  const id = await operator.create('metal-1', { license: { product: 'CML_Enterprise', token: 'token-of-the-account' } })
  await world.untilTrue('refused everywhere', () =>
    world.workers().some(({ launch, conditions }) => launch?.state === 'refused' && conditions.length > 0),
  )
  const n = 1 + ((await world.worker(id)).launch?.n ?? 0)
  for (const place of places) manual.useToken(id, n, place)
  const adopted = await world.until(id, 'RUNNING', 30 * MINUTE_MS)
  expect(adopted.launch).toMatchObject({ state: 'adopted' })
  await world.runFor(30 * MINUTE_MS)
  const { approval, service_status, license } = await world.worker(id)
  expect([approval.state, service_status]).toEqual(['required', 'UNAVAILABLE'])
  expect(license).toMatchObject({ status: 'UNREGISTERED', pending_operation: 'register' })
  expect(manual.seats()).toEqual([])
  await done()
})
