import { NOT_NEEDED } from '@lcm/domain/worker/worker-field-schemas'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../../testing/a-fleet.ts'

const [ONE, OTHER] = ['ab'.repeat(32), 'cd'.repeat(32)]
const COLONS = ONE.toUpperCase().replaceAll(/..(?!$)/g, '$&:')

let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

/** A worker on a machine that LCM did not launch, whose CML showed a certificate. */
async function found(): Promise<string> {
  const { id } = await fleet.running()
  await fleet.edit(id, ({ cml }) => ({
    origin: 'DISCOVERY',
    launch: null,
    approval: { ...NOT_NEEDED, state: 'required' },
    cml: { ...cml, seen_certificate_sha256: OTHER },
  }))
  return id
}

const entries = async (id: string, action: string) =>
  (await fleet.journal('audit', `worker:${id}`)).filter(({ body }) => (body as { action: string }).action === action)

describe('approve', () => {
  it('records who approved the machine and when, once', async () => {
    const id = await found()
    const { status, json } = await fleet.act(id, 'approve', { reason: 'the one of the lab' })
    expect(status).toBe(202)
    expect(json.approval).toEqual({ state: 'approved', by: 'admin', at: expect.any(String), fingerprint: null })
    expect(json.cml).toMatchObject({ certificate_sha256: null, seen_certificate_sha256: OTHER })
    expect((await fleet.act(id, 'approve')).json.version).toBe(json.version)
    const [entry, ...more] = await entries(id, 'approve')
    expect(more).toEqual([])
    expect(entry?.body).toMatchObject({
      actor: { name: 'admin' },
      before: { approval: 'required' },
      after: { approval: 'approved' },
      reason: 'the one of the lab',
    })
  })

  it('pins the given fingerprint, also in the form of openssl', async () => {
    const id = await found()
    const { json } = await fleet.act(id, 'approve', { fingerprint: COLONS })
    expect(json).toMatchObject({
      approval: { state: 'approved', fingerprint: ONE },
      cml: { certificate_sha256: ONE, seen_certificate_sha256: null },
    })
    expect((await fleet.act(id, 'approve', { fingerprint: ONE })).status).toBe(202)
    expect(await fleet.act(id, 'approve', { fingerprint: OTHER })).toMatchObject({
      status: 409,
      json: { code: 'certificate_mismatch' },
    })
  })

  it('is not made up for by a report: no controller, also of an older version, pins a certificate before it', async () => {
    const id = await found()
    const changes = { cml: { certificate_sha256: OTHER, version: '2.9' } }
    const { json } = await fleet.report(id, (await fleet.get(id)).version, changes)
    expect(json.cml).toMatchObject({ certificate_sha256: null, version: '2.9' })
    const { version } = (await fleet.act(id, 'approve')).json
    expect((await fleet.report(id, version, changes)).json.cml.certificate_sha256).toBe(OTHER)
  })

  it('ends with the machine, and so does its pin', async () => {
    const { id } = await fleet.create()
    await fleet.moveTo(id, 'PROVISIONING')
    await fleet.edit(id, () => ({ launch: anAttempt({ state: 'adopted' }) }))
    const { version } = (await fleet.act(id, 'approve', { fingerprint: ONE })).json
    const lost = { status: 'PENDING', ec2_instance_id: null, launch: anAttempt({ state: 'spent' }) }
    const { json } = await fleet.report(id, version, lost)
    expect(json).toMatchObject({ approval: NOT_NEEDED, cml: { certificate_sha256: null } })
  })

  it('changes nothing where LCM launched the machine', async () => {
    const { id, version } = await fleet.running()
    expect(await fleet.act(id, 'approve')).toMatchObject({ status: 202, json: { version, approval: NOT_NEEDED } })
  })

  it.each(['', 'ab', `${ONE}00`, 'zz'.repeat(32), `${ONE}:`])('refuses the fingerprint "%s"', async fingerprint => {
    expect((await fleet.act(await found(), 'approve', { fingerprint })).status).toBe(400)
  })
})

describe('repin', () => {
  const pinned = async (seen: string | null) => {
    const { id } = await fleet.running()
    await fleet.edit(id, ({ cml }) => ({
      cml: { ...cml, version: '2.8', certificate_sha256: ONE, seen_certificate_sha256: seen },
    }))
    return id
  }

  it('pins the certificate that the server showed last, once', async () => {
    const id = await pinned(OTHER)
    const { status, json } = await fleet.act(id, 'repin', { fingerprint: OTHER })
    expect(status).toBe(202)
    expect(json.cml).toMatchObject({ certificate_sha256: OTHER, seen_certificate_sha256: null, version: '2.8' })
    expect((await fleet.act(id, 'repin', { fingerprint: OTHER })).json.version).toBe(json.version)
    const [entry] = await entries(id, 'repin')
    expect(entry?.body).toMatchObject({ before: { certificate_sha256: ONE }, after: { certificate_sha256: OTHER } })
  })

  it.each([
    ['showed another one', OTHER, OTHER, ONE],
    ['still shows the pinned one', null, ONE, OTHER],
  ])('is refused, with the certificate that was seen, where the server %s', async (_, seen, shown, given) => {
    const id = await pinned(seen)
    const { status, json } = await fleet.act(id, 'repin', { fingerprint: given })
    expect([status, json.code]).toEqual([409, 'certificate_mismatch'])
    expect(json.detail).toContain(shown)
    expect((await fleet.get(id)).cml.certificate_sha256).toBe(ONE)
  })

  it('needs a fingerprint, and an approval first', async () => {
    expect((await fleet.act(await pinned(OTHER), 'repin')).status).toBe(400)
    expect(await fleet.act(await found(), 'repin', { fingerprint: OTHER })).toMatchObject({
      status: 409,
      json: { code: 'worker_not_trusted', detail: expect.stringContaining('lcm approve worker') },
    })
  })
})

it('the approval of an upgraded worker is completed and audited once', async () => {
  const id = await found()
  await fleet.edit(id, () => ({ approval: { ...NOT_NEEDED, state: 'migrated' } }))
  const stop = fleet.run()
  await fleet.clock.advance(30_000)
  await stop()
  expect((await fleet.get(id)).approval).toMatchObject({ state: 'migrated', by: 'upgrade', at: expect.any(String) })
  expect(await entries(id, 'approve')).toMatchObject([
    { body: { actor: { name: 'control-plane-api' }, after: { approval: 'migrated' } } },
  ])
})
