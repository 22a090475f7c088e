import { systemClock } from '@lcm/runtime/clock'
import { expect, it, onTestFinished } from 'vitest'
import { makeCertificates } from '../../testing/certificates.ts'
import { etcdAdmin } from '../../testing/etcd-admin.ts'
import { diskQuota, type EtcdServerOptions, startEtcd } from '../../testing/etcd-server.ts'
import { checkEtcd, type EtcdCheckOptions } from './diagnostics.ts'

async function running(options: EtcdServerOptions = {}) {
  const etcd = await startEtcd(options)
  onTestFinished(() => etcd.close())
  const signal = new AbortController().signal
  const examined = async (more: Partial<EtcdCheckOptions> = {}) => {
    const [first] = await checkEtcd({ endpoints: etcd.endpoints, probeKey: '/lcm/', signal, ...more })
    return first
  }
  return { etcd, endpoint: etcd.endpoints[0] ?? '', examined }
}

it('reports version, time and leader of a healthy member', async () => {
  const { endpoint, examined } = await running()
  const facts = await examined()
  expect(facts).toMatchObject({ endpoint, problem: null, hasLeader: true, alarms: [] })
  expect(facts?.version).toMatch(/^3\.\d+/)
  expect(Math.abs((facts?.atMs ?? 0) - systemClock.now())).toBeLessThan(5000)
})

it('reports an unreachable member', async () => {
  const { etcd, examined } = await running()
  await etcd.members[0]?.kill()
  const facts = await examined()
  expect(facts?.problem).toMatchObject({ code: 'etcd_unreachable' })
  expect(facts?.problem?.message).toContain('ECONNREFUSED')
})

it('tells a wrong password, no password and missing permissions from a successful read', async () => {
  const { endpoint, examined } = await running()
  const admin = etcdAdmin(endpoint)
  await admin.askForUsers({ name: 'lcm', password: 'right', prefix: '/lcm/' })
  admin.close()
  expect((await examined({ auth: { user: 'lcm', password: 'right' } }))?.problem).toBeNull()
  expect((await examined({ auth: { user: 'lcm', password: 'wrong' } }))?.problem?.code).toBe('etcd_bad_credentials')
  expect((await examined())?.problem?.code).toBe('etcd_bad_credentials')
  const elsewhere = { auth: { user: 'lcm', password: 'right' }, probeKey: '/other' }
  expect((await examined(elsewhere))?.problem?.code).toBe('etcd_permission_denied')
})

it('reports the alarm of a full member', async () => {
  const { endpoint, examined } = await running({ args: diskQuota(2_000_000) })
  const admin = etcdAdmin(endpoint)
  const fill = async () => {
    for (let n = 0; n < 20; n++) await admin.put(`/fill/${n}`, 'x'.repeat(500_000))
  }
  await expect(fill()).rejects.toThrow('space exceeded')
  admin.close()
  expect(await examined()).toMatchObject({ alarms: ['NOSPACE'], hasLeader: true })
})

it('needs the right certificates where they are required', async () => {
  const { path, text, remove } = makeCertificates()
  onTestFinished(remove)
  const tls = { ca: text('ca.crt'), certificate: text('client.crt'), key: text('client.key') }
  const files = ['--cert-file', path('server.crt'), '--key-file', path('server.key')]
  const args = [...files, '--client-cert-auth', '--trusted-ca-file', path('ca.crt')]
  const { examined } = await running({ args, tls })
  expect((await examined({ tls }))?.problem).toBeNull()
  expect((await examined({ tls: {} }))?.problem?.code).toBe('etcd_untrusted')
})
