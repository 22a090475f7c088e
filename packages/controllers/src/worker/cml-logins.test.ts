import { CloudError } from '@lcm/cloud/errors'
import type { Worker } from '@lcm/domain/worker/worker'
import { anAttempt, aWorker } from '@lcm/testkit/builders'
import { onMachine } from '@lcm/testkit/observations'
import { beforeEach, describe, expect, it } from 'vitest'
import { cmlLogins } from './cml-access.ts'
import { type FakeApi, fakeApi } from './testing/fake-api.ts'
import { never } from './testing/simulated-fleet.ts'

const URL = 'https://127.64.0.1'
const PIN = 'ab'.repeat(32)
const DEFAULTS = { username: 'admin', password: 'of the fleet' }
let api: FakeApi

const pinned = (more: Partial<Worker> = {}): Worker =>
  onMachine({ cml: { ...aWorker().cml, certificate_sha256: PIN }, ...more })
const withOwn = (ref: string) => pinned({ secret_refs: { cml_login: ref } })

beforeEach(() => {
  api = fakeApi()
  api.secrets.set('w-1', { cml_username: 'own', cml_password: 'its own' })
})

describe('how to get into a CML', () => {
  it('is by the credentials of the fleet where a worker has none of its own', async () => {
    expect(await cmlLogins(api.client, DEFAULTS).resolve(pinned(), URL, never)).toEqual({
      url: URL,
      certificate_sha256: PIN,
      ...DEFAULTS,
    })
    expect(api.received).toEqual([])
  })

  it("is by the worker's own credentials, which are asked for once", async () => {
    const logins = cmlLogins(api.client, DEFAULTS)
    const own = { username: 'own', password: 'its own' }
    expect(await logins.resolve(withOwn('s-1'), URL, never)).toMatchObject(own)
    expect(await logins.resolve(withOwn('s-1'), URL, never)).toMatchObject(own)
    expect(api.callsOf('getWorkerSecrets')).toHaveLength(1)
  })

  it.each<[string, (logins: ReturnType<typeof cmlLogins>) => string]>([
    ['somebody has set others', () => 's-2'],
    [
      'the worker was forgotten',
      logins => {
        logins.forget('w-1')
        return 's-1'
      },
    ],
  ])('is asked for anew when %s', async (_, happens) => {
    const logins = cmlLogins(api.client, DEFAULTS)
    await logins.resolve(withOwn('s-1'), URL, never)
    api.secrets.set('w-1', { cml_username: 'own', cml_password: 'a new one' })
    expect(await logins.resolve(withOwn(happens(logins)), URL, never)).toMatchObject({ password: 'a new one' })
  })

  it('is nobody knows how, in words, without any credentials', async () => {
    const refused = cmlLogins(api.client, null).resolve(pinned(), URL, never)
    await expect(refused).rejects.toBeInstanceOf(CloudError)
    await expect(refused).rejects.toMatchObject({ errorClass: 'auth', code: 'NoCredentials' })
    await expect(refused).rejects.toThrow('metal-1; PUT its credentials, or set CML_DEFAULT_PASSWORD')
  })

  it.each([
    ['was found', null],
    ['is known by its tags alone', anAttempt({ state: 'adopted' })],
  ])('is never by the credentials of the fleet where its machine %s', async (_, launch) => {
    const logins = cmlLogins(api.client, DEFAULTS)
    const refused = logins.resolve(pinned({ launch }), URL, never)
    await expect(refused).rejects.toMatchObject({ errorClass: 'auth', code: 'NoCredentials' })
    await expect(refused).rejects.toThrow('LCM did not launch metal-1')
    const own = logins.resolve({ ...withOwn('s-1'), launch }, URL, never)
    await expect(own).resolves.toMatchObject({ username: 'own', password: 'its own' })
    api.secrets.delete('w-1')
    await expect(logins.resolve({ ...withOwn('gone'), launch }, URL, never)).rejects.toThrow(
      'LCM did not launch metal-1',
    )
  })

  it('is not told to a server that nobody has seen before', async () => {
    const stranger = cmlLogins(api.client, DEFAULTS).resolve({ ...withOwn('s-1'), cml: aWorker().cml }, URL, never)
    await expect(stranger).rejects.toMatchObject({ errorClass: 'transient', code: 'NotPinned' })
    expect(api.received).toEqual([])
  })
})
