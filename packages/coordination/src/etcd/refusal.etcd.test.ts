import { systemClock } from '@lcm/runtime/clock'
import { describe, expect, it } from 'vitest'
import type { ChangeHint } from '../change-keys.ts'
import { makeCertificates } from '../testing/certificates.ts'
import { etcdAdmin } from '../testing/etcd-admin.ts'
import { diskQuota, type EtcdServerOptions, startEtcd } from '../testing/etcd-server.ts'
import { eventually } from '../testing/eventually.ts'
import { follow } from '../testing/follow-change-keys.ts'
import { testClients } from '../testing/test-clients.ts'

type OnTestFinished = (cleanup: () => Promise<void>) => void

/** An etcd server, its operator and its clients, for one test. */
async function open(onTestFinished: OnTestFinished, options: EtcdServerOptions = {}) {
  const etcd = await startEtcd(options)
  const admin = etcdAdmin(etcd.endpoints[0] ?? '', options.tls === undefined ? {} : { tls: options.tls })
  const clients = testClients(() => etcd.endpoints)
  onTestFinished(async () => {
    await clients.close()
    admin.close()
    await etcd.close()
  })
  return { etcd, admin, clients }
}

const hint = (version: number): ChangeHint => ({ id: 'w-1', version, updated_at: '' })
const KEY = '/lcm/workers/w-1'

describe('an etcd with authentication', () => {
  const user = { name: 'lcm', password: 'correct', prefix: '/lcm/' }
  const auth = { user: user.name, password: user.password }

  it.concurrent('has no leader with a wrong password or none, and reports it without the password', async ({
    onTestFinished,
  }) => {
    const { admin, clients } = await open(onTestFinished)
    await admin.askForUsers(user)
    const wrong = clients.contend('a', 'one', clients.connect({ auth: { ...auth, password: 'guessed-wrong' } }))
    const none = clients.contend('b', 'two')
    for (const { client } of [wrong, none])
      await eventually('refusal', () => client.health().problem?.code === 'etcd_bad_credentials')
    expect(wrong.client.logger.messages('error').join()).toContain('rejected the credentials')
    expect(JSON.stringify([wrong.client.logger.lines, wrong.client.health()])).not.toContain('guessed-wrong')
    expect([wrong.leadership, none.leadership]).toEqual([undefined, undefined])
  })

  it.concurrent('works with the right password, and denies keys outside the prefix', async ({ onTestFinished }) => {
    const { admin, clients } = await open(onTestFinished)
    await admin.askForUsers(user)
    const a = clients.contend('a', 'one', clients.connect({ auth }))
    await a.leads()
    expect(await a.client.changeKeys.publish(KEY, hint(1))).toBe(true)
    await expect(a.client.changeKeys.publish('/other/w-1', hint(1))).rejects.toMatchObject({
      code: 'etcd_permission_denied',
      advice: expect.stringContaining('grant the user read and write under the key prefix'),
    })
    expect(await a.client.changeKeys.publish(KEY, hint(2))).toBe(true)
    expect(a.client.health().state).toBe('healthy')
  })

  it.concurrent('gets a fresh token when etcd has forgotten the old one: calls, watches and leadership continue', async ({
    onTestFinished,
  }) => {
    const { etcd, admin, clients } = await open(onTestFinished, { args: ['--auth-token-ttl', '1'] })
    await admin.askForUsers(user)
    const a = clients.contend('a', 'one', clients.connect({ auth, leaseTtlMs: 5_000 }))
    const { leadership } = await a.leads()
    const follower = follow(a.client.changeKeys, '/lcm/workers/')
    await eventually('the list', () => follower.lists > 0)
    await etcd.members[0]?.restart()
    expect(await publishedSoon(a.client.changeKeys.publish, 1)).toBe(true)
    await systemClock.sleep(1_800)
    expect(await publishedSoon(a.client.changeKeys.publish, 2)).toBe(true)
    await eventually('both changes', () => follower.versions.join() === '1,2')
    expect(leadership.isHeld()).toBe(true)
    follower.stop()
  })

  it.concurrent('may have authentication disabled though a user is configured', async ({ onTestFinished }) => {
    const { clients } = await open(onTestFinished)
    const a = clients.contend('a', 'one', clients.connect({ auth }))
    await a.leads()
    expect(a.client.logger.messages('warn').join()).toContain('authentication disabled')
  })
})

async function publishedSoon(publish: (key: string, hint: ChangeHint) => Promise<boolean>, version: number) {
  const { found } = await eventually('publishing', () => publish(KEY, hint(version)).catch(() => null))
  return found
}

describe('an etcd behind TLS', () => {
  it.concurrent('is trusted by its certificate and trusts ours, and no other', async ({ onTestFinished }) => {
    const certificates = makeCertificates()
    onTestFinished(certificates.remove)
    const { path, text } = certificates
    const tls = { ca: text('ca.crt'), certificate: text('client.crt'), key: text('client.key') }
    const files = ['--cert-file', path('server.crt'), '--key-file', path('server.key')]
    const args = [...files, '--client-cert-auth', '--trusted-ca-file', path('ca.crt')]
    const { etcd, clients } = await open(onTestFinished, { tls, args })
    const byName = etcd.endpoints.map(endpoint => endpoint.replace('127.0.0.1', 'https://localhost'))
    const [a, b] = [
      clients.contend('a', 'one', clients.connect({ tls })),
      clients.contend('b', 'two', clients.connect({ tls }, byName)),
    ]
    await Promise.all([a.leads(), b.leads()])
    const stranger = clients.connect({ tls: {} })
    await eventually('distrust', () => stranger.health().problem?.code === 'etcd_untrusted')
    expect(stranger.health().problem?.advice).toContain('check the certificates on both sides')
    const nameless = clients.connect({ tls: { ca: tls.ca } })
    const plain = clients.connect({})
    for (const client of [nameless, plain]) await eventually('refusal', () => client.health().state === 'unhealthy')
  })
})

describe('a full etcd', () => {
  it.concurrent('is reported, elects no new leader, and recovers when space has been freed', async ({
    onTestFinished,
  }) => {
    const { admin, clients } = await open(onTestFinished, { args: diskQuota(16_000_000) })
    const client = clients.connect()
    const value = 'x'.repeat(1_000_000)
    const fill = async () => {
      for (let count = 0; count < 40; count += 1) await admin.put('/filler', value)
    }
    await expect(fill()).rejects.toMatchObject({ code: 'etcd_no_space' })
    const a = clients.contend('a', 'one', client)
    await eventually('unhealthy', () => client.health().problem?.code === 'etcd_no_space')
    expect(client.health().problem?.advice).toContain('then run etcdctl alarm disarm')
    expect(client.logger.messages('error').join()).toContain('is full and refuses writes')
    await expect(client.changeKeys.publish(KEY, hint(1))).rejects.toMatchObject({ code: 'etcd_no_space' })
    expect((await client.changeKeys.source('/lcm/').list(new AbortController().signal)).entries).toEqual([])
    expect(a.leadership).toBeUndefined()
    await admin.delete('/filler')
    await admin.compact()
    await admin.defragment()
    await admin.disarm()
    await a.leads()
    await eventually('healthy', () => client.health().state === 'healthy')
    expect(await client.changeKeys.publish(KEY, hint(1))).toBe(true)
  })
})
