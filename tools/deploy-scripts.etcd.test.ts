import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { etcdAdmin } from '@lcm/coordination/testing/etcd-admin'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { testClients } from '@lcm/coordination/testing/test-clients'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const deploy = fileURLToPath(new URL('../deploy', import.meta.url))
const { configs } = z
  .object({ configs: z.object({ 'make-certificates': z.object({ content: z.string() }) }) })
  .parse(parse(readFileSync(join(deploy, 'compose.yaml'), 'utf8'), { merge: true }))
const folder = mkdtempSync(join(tmpdir(), 'lcm-deploy-'))
const at = (path: string) => join(folder, path)
const text = (path: string) => readFileSync(at(path), 'utf8')

/** Runs the script of the container with the folders of this test. The owner of a file can't be changed here. */
function makeCertificates(): void {
  const script = configs['make-certificates'].content.replaceAll('$$', () => '$')
  const here = script.replaceAll(/(?<= |=)\/(authority|tls|etcd-tls)\b/g, `${folder}/$1`)
  execFileSync('bash', ['-c', `chown() { :; }\n${here}`], { stdio: 'pipe' })
}

beforeAll(() => {
  for (const name of ['authority', 'tls', 'etcd-tls']) mkdirSync(at(name))
  makeCertificates()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('makes certificates for the names in the compose file, renews them, and keeps the authority', () => {
  const before = { ca: text('tls/ca.crt'), lcm: text('tls/lcm.crt') }
  makeCertificates()
  expect(text('tls/ca.crt')).toBe(before.ca)
  expect(text('tls/lcm.crt')).not.toBe(before.lcm)
  const [ca, lcm, etcd] = ['tls/ca.crt', 'tls/lcm.crt', 'etcd-tls/etcd.crt'].map(
    path => new X509Certificate(text(path)),
  )
  for (const each of [lcm, etcd]) expect(ca !== undefined && each?.verify(ca.publicKey)).toBe(true)
  for (const name of ['localhost', 'control-plane-api', 'lcm-worker-controller-2', 'lcm-control-plane-api-1', 'sim'])
    expect(lcm?.checkHost(name), name).toBe(name)
  expect(etcd?.checkHost('etcd')).toBe('etcd')
  for (const key of ['tls/lcm.key', 'etcd-tls/etcd.key', 'authority/ca.key'])
    expect(statSync(at(key)).mode & 0o777, key).toBe(0o600)
  expect(statSync(at('tls/ca.crt')).mode & 0o777).toBe(0o444)
})

it('gives LCM an etcd user for its own keys only, once, over TLS', async ({ onTestFinished }) => {
  const tls = { ca: text('etcd-tls/ca.crt') }
  const args = ['--cert-file', at('etcd-tls/etcd.crt'), '--key-file', at('etcd-tls/etcd.key')]
  const etcd = await startEtcd({ tls, args })
  const [endpoint = ''] = etcd.endpoints
  const clients = testClients(() => etcd.endpoints)
  onTestFinished(async () => {
    await clients.close()
    await etcd.close()
  })
  for (const name of ['etcd-password', 'etcd-root-password']) writeFileSync(at(name), `the ${name}\n`)
  const script = readFileSync(join(deploy, 'etcd-users.mjs'), 'utf8')
  writeFileSync(
    at('etcd-users.mjs'),
    script.replace('https://etcd:2379', `https://${endpoint}`).replace('/run/secrets', folder),
  )
  const env = { NODE_EXTRA_CA_CERTS: at('tls/ca.crt') }
  for (const _ of ['first start', 'second start']) {
    const { status, stderr, stdout } = spawnSync(process.execPath, [at('etcd-users.mjs')], { env, encoding: 'utf8' })
    expect(stderr).toBe('')
    expect([status, stdout]).toEqual([0, 'etcd: user lcm may read and write below /lcm/\n'])
  }
  const anyone = etcdAdmin(endpoint, { tls })
  await expect(anyone.put('/lcm/x', '')).rejects.toThrow(/user name is empty/)
  anyone.close()
  const auth = { user: 'lcm', password: 'the etcd-password' }
  const one = clients.contend('worker-controller', 'one', clients.connect({ auth, tls }))
  await one.leads()
  const hint = { id: 'w-1', version: 1, updated_at: '' }
  expect(await one.client.changeKeys.publish('/lcm/workers/w-1', hint)).toBe(true)
  await expect(one.client.changeKeys.publish('/other/w-1', hint)).rejects.toMatchObject({
    code: 'etcd_permission_denied',
  })
})
