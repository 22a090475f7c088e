import type { Worker } from '@lcm/domain/worker/worker'
import { onMachine } from '@lcm/testkit/observations'
import { expect, it } from 'vitest'
import { cmlLoginsBy } from './cml-logins.ts'

const signal = new AbortController().signal
const DEFAULTS = { username: 'admin', password: 'of the fleet' }
const blank = onMachine()
const worker: Worker = { ...blank, cml: { ...blank.cml, certificate_sha256: 'ab' } }

it('a worker with a secret of its own is asked for it once per secret', async () => {
  const asked: string[] = []
  const logins = cmlLoginsBy(async id => {
    asked.push(id)
    return { cml_username: 'own', cml_password: 'secret' }
  }, DEFAULTS)
  const own = { ...worker, secret_refs: { cml_login: 'ref-1' } }
  for (const each of [own, own, { ...own, secret_refs: { cml_login: 'ref-2' } }])
    expect(await logins.of(each, 'https://here', signal)).toMatchObject({ username: 'own', password: 'secret' })
  expect(asked).toEqual(['w-1', 'w-1'])
  expect(await logins.of(worker, 'https://here', signal)).toMatchObject(DEFAULTS)
})

it('a server that nobody has pinned is never told a password', async () => {
  const logins = cmlLoginsBy(async () => ({ cml_username: null, cml_password: null }), DEFAULTS)
  await expect(logins.of(blank, 'https://here', signal)).rejects.toThrow('has not been seen yet')
})
