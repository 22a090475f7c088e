import type { Worker } from '@lcm/domain/worker/worker'
import { onMachine } from '@lcm/testkit/observation-builders'
import { expect, it } from 'vitest'
import { cmlLoginResolver, NO_CREDENTIALS } from './cml-login-resolver.ts'

const signal = new AbortController().signal
const DEFAULTS = { username: 'admin', password: 'of the fleet' }
const blank = onMachine()
const worker: Worker = { ...blank, cml: { ...blank.cml, certificate_sha256: 'ab' } }

it('reads the secret of a worker once per secret', async () => {
  const asked: string[] = []
  const logins = cmlLoginResolver(async id => {
    asked.push(id)
    return { cml_username: 'own', cml_password: 'secret' }
  }, DEFAULTS)
  const own = { ...worker, secret_refs: { cml_login: 'ref-1' } }
  for (const each of [own, own, { ...own, secret_refs: { cml_login: 'ref-2' } }])
    expect(await logins.resolve(each, 'https://here', signal)).toMatchObject({ username: 'own', password: 'secret' })
  expect(asked).toEqual(['w-1', 'w-1'])
  expect(await logins.resolve(worker, 'https://here', signal)).toMatchObject(DEFAULTS)
})

it('never sends a password to a server without a pinned certificate', async () => {
  const logins = cmlLoginResolver(async () => ({ cml_username: null, cml_password: null }), DEFAULTS)
  for (const url of ['https://here', 'http://here'])
    await expect(logins.resolve(blank, url, signal)).rejects.toThrow('has not been seen yet')
})

it('never sends the default password in place of own credentials that the API does not return', async () => {
  let stored: string | null = null
  const read = async () => ({ cml_username: stored && 'own', cml_password: stored })
  const logins = cmlLoginResolver(read, DEFAULTS)
  const own = { ...worker, secret_refs: { cml_login: 'ref-1' } }
  const refused = logins.resolve(own, 'https://here', signal)
  await expect(refused).rejects.toMatchObject({ errorClass: 'auth', code: NO_CREDENTIALS })
  await expect(refused).rejects.toThrow('the credentials of metal-1 are missing: PUT them again')
  stored = 'secret'
  expect(await logins.resolve(own, 'https://here', signal)).toMatchObject({ username: 'own', password: 'secret' })
})
