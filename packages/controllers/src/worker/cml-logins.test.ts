import type { Client } from '@lcm/client/client'
import { CloudError } from '@lcm/cloud/errors'
import type { Worker } from '@lcm/domain/worker/worker'
import { type AControlPlane, aControlPlane } from '@lcm/testkit/a-control-plane'
import { onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { cmlLogins } from './cml-logins.ts'
import { never } from './testing/simulated-cloud-and-api.ts'

const URL = 'https://127.64.0.1'
const PIN = 'ab'.repeat(32)
const DEFAULTS = { username: 'admin', password: 'of the fleet' }
let plane: AControlPlane
let client: Client

const pinned = (more: Partial<Worker> = {}): Worker =>
  onMachine({ cml: { ...aWorker().cml, certificate_sha256: PIN }, ...more })
const withOwn = (ref: string) => pinned({ secret_refs: { cml_login: ref } })

/** An operator sets its own credentials. */
const setOwn = (password: string) =>
  plane.others().call('putWorkerCredentials', { params: { id: 'w-1' }, body: { username: 'own', password } })

beforeEach(async () => {
  plane = aControlPlane()
  client = plane.client('worker-controller')
  await plane.put('workers', pinned())
  await setOwn('its own')
})

describe('the login for a CML', () => {
  it('uses the default credentials when a worker has none of its own', async () => {
    expect(await cmlLogins(client, DEFAULTS).resolve(pinned(), URL, never)).toEqual({
      url: URL,
      certificate_sha256: PIN,
      ...DEFAULTS,
    })
    expect(plane.requests).toEqual([])
  })

  it("uses the worker's own credentials, which are read once", async () => {
    const logins = cmlLogins(client, DEFAULTS)
    const own = { username: 'own', password: 'its own' }
    expect(await logins.resolve(withOwn('s-1'), URL, never)).toMatchObject(own)
    expect(await logins.resolve(withOwn('s-1'), URL, never)).toMatchObject(own)
    expect(plane.requestsOf('getWorkerSecrets')).toHaveLength(1)
  })

  it.each<[string, (logins: ReturnType<typeof cmlLogins>) => string]>([
    ['an operator has set others', () => 's-2'],
    [
      'the worker was forgotten',
      logins => {
        logins.forget('w-1')
        return 's-1'
      },
    ],
  ])('is read again when %s', async (_, happens) => {
    const logins = cmlLogins(client, DEFAULTS)
    await logins.resolve(withOwn('s-1'), URL, never)
    await setOwn('a new one')
    expect(await logins.resolve(withOwn(happens(logins)), URL, never)).toMatchObject({ password: 'a new one' })
  })

  it('is refused with advice when there are no credentials', async () => {
    const refused = cmlLogins(client, null).resolve(pinned(), URL, never)
    await expect(refused).rejects.toBeInstanceOf(CloudError)
    await expect(refused).rejects.toMatchObject({ errorClass: 'auth', code: 'NoCredentials' })
    await expect(refused).rejects.toThrow('metal-1; PUT its credentials, or set CML_DEFAULT_PASSWORD')
  })

  it.each([
    ['was found', null],
    ['is known by its tags alone', anAttempt({ state: 'adopted' })],
  ])('is not given before an approval when its machine %s, not even its own', async (_, launch) => {
    const logins = cmlLogins(client, DEFAULTS)
    for (const worker of [pinned({ launch }), { ...withOwn('s-1'), launch }]) {
      const refused = logins.resolve(worker, URL, never)
      await expect(refused).rejects.toMatchObject({ errorClass: 'auth', code: 'NotApproved' })
      await expect(refused).rejects.toThrow('lcm approve worker w-1')
    }
    expect(plane.requests).toEqual([])
    const approval = { state: 'approved', by: 'ann', at: aWorker().created_at, fingerprint: null } as const
    const own = logins.resolve({ ...withOwn('s-1'), launch, approval }, URL, never)
    await expect(own).resolves.toMatchObject({ username: 'own', password: 'its own' })
    await expect(logins.resolve(pinned({ launch, approval }), URL, never)).resolves.toMatchObject(DEFAULTS)
  })

  it('is not sent to a server whose certificate is not pinned', async () => {
    const stranger = cmlLogins(client, DEFAULTS).resolve({ ...withOwn('s-1'), cml: aWorker().cml }, URL, never)
    await expect(stranger).rejects.toMatchObject({ errorClass: 'transient', code: 'NotPinned' })
    expect(plane.requests).toEqual([])
  })
})
