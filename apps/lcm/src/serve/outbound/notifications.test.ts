import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { selfSigned } from '@lcm/cloud-sim/cml/certificate'
import { degraded, down } from '@lcm/domain/health'
import { toInstant } from '@lcm/domain/instant'
import { NOTIFICATION_KINDS, type NotificationKind } from '@lcm/domain/notification/notification-target'
import { reason, textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { systemClock } from '@lcm/runtime/clock'
import { aControlPlane, storedDefinition } from '@lcm/testkit/a-control-plane'
import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { SMTPServer } from 'smtp-server'
import { afterEach, expect, it } from 'vitest'
import { outboundFetch } from './outbound-fetch.ts'
import { emailSender } from './send-email.ts'

const MINUTE_MS = 60_000
const { certificate_pem: cert, key_pem: key } = selfSigned('localhost', systemClock.now())

const open: (Server | SMTPServer)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(server => new Promise<void>(done => void server.close(() => done()))))
})

/** Real receivers of HTTP and SMTP on loopback, with what they received by the kind of target. */
async function receivers() {
  const received: Record<'webhook' | 'slack' | 'email', string[]> = { webhook: [], slack: [], email: [] }
  const http = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const type = request.url === '/slack' ? 'slack' : 'webhook'
    received[type].push(type === 'slack' ? JSON.parse(body).text : JSON.parse(body).data.title)
    response.writeHead(204, { connection: 'close' }).end()
  })
  const smtp = new SMTPServer({
    cert,
    key,
    authOptional: true,
    onData(stream, _, callback) {
      let raw = ''
      stream.on('data', chunk => {
        raw += chunk
      })
      stream.on('end', () => {
        received.email.push(/^Subject: (.*(?:\r\n .*)*)$/m.exec(raw)?.[1]?.replace(/\r\n /g, ' ') ?? '')
        callback()
      })
    },
  })
  open.push(http, smtp)
  await once(http.listen(0, '127.0.0.1'), 'listening')
  await once(smtp.listen(0, '127.0.0.1'), 'listening')
  const portOf = (address: AddressInfo | string | null) => (address as AddressInfo).port
  const outbound = { privateHosts: ['localhost'] }
  const url = `smtp://localhost:${portOf(smtp.server.address())}`
  return {
    received,
    base: `http://localhost:${portOf(http.address())}`,
    setting: {
      source: '/lcm/lab',
      fetch: outboundFetch(outbound),
      sendEmail: emailSender({ url, from: 'lcm@example.com', outbound, ca: cert }),
    },
  }
}

type Plane = ReturnType<typeof aControlPlane>

/** Writes what makes each kind true. */
const HAPPENINGS: Readonly<Record<NotificationKind, (plane: Plane) => Promise<unknown>>> = {
  session_ready: plane => session(plane, at => ({ status: 'READY', state_history: [readyAt(at)] })),
  session_degraded: plane =>
    session(plane, at => ({
      health: degraded(reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }), at),
    })),
  session_down: plane =>
    session(plane, at => ({ health: down(reason('lab_stopped_on_cml', { state: 'STOPPED' }), at) })),
  session_moved: plane =>
    session(plane, at => ({
      status: 'PENDING',
      state_history: [
        { from: 'RUNNING', to: 'PENDING', at, because: reason('session_moved', { cause: reason('worker_deleted') }) },
      ],
      health: down(reason('session_starts_elsewhere'), at),
    })),
  session_lost: plane =>
    session(plane, at => ({
      status: 'STOPPING',
      state_history: [readyAt(at), { from: 'RUNNING', to: 'STOPPING', at, because: reason('worker_deleted') }],
    })),
  session_at_risk: plane =>
    session(plane, at => ({
      status: 'PENDING',
      updated_at: at,
      admission: {
        ...aSession().admission,
        kind: 'admitted',
        at_risk: reason('capacity_lost', { since: at, cause: reason('capacity_booked_no_template') }),
      },
    })),
  session_ends_soon: plane => session(plane, () => ({}), 15 * MINUTE_MS),
  capacity_short: plane =>
    session(plane, () => ({
      status: 'PENDING',
      waiting_reason: reason('region_worker_limit', { region: 'us-east-1', limit: 2 }),
    })),
  worker_failed: async plane => {
    const worker = aServingWorker({ id: 'w-1', name: 'metal-1' })
    await plane.put('workers', { ...worker, status: 'FAILED', entered_status_at: toInstant(plane.clock.now()) })
  },
  license_leak: async plane => {
    const at = toInstant(plane.clock.now())
    const stamps = { id: 'll-1', version: 1, created_at: at, updated_at: at, at, resolved_at: null, resolved_by: null }
    const unknown = { udi: null, hostname: null, product: null }
    await plane.put('leaks', {
      ...stamps,
      ...unknown,
      worker_id: 'w-1',
      worker_name: 'metal-1',
      reason: textReason('lost'),
    })
  },
  budget: plane => plane.set({ budget_usd_per_day: 0 }),
  capacity_ahead: async plane => {
    await plane.set({ scale_up_enabled: false })
    await plane.put('definitions', storedDefinition(aDefinition()))
    await plane.put('templates', aTemplate())
    await session(plane, () => ({ status: 'PENDING' }))
  },
}

const readyAt = (at: string) => ({ from: 'INSTANTIATING', to: 'READY', at, because: reason('lab_ready') }) as const

async function session(plane: Plane, more: (at: string) => Partial<LabletSession>, slotMs = 3 * 60 * MINUTE_MS) {
  const now = plane.clock.now()
  const timeslot = { start: toInstant(now), end: toInstant(now + slotMs) }
  await plane.put('sessions', aSession({ id: 'ls-1', status: 'RUNNING', timeslot, ...more(toInstant(now)) }))
}

const TITLES: Readonly<Record<NotificationKind, RegExp>> = {
  session_ready: /^Lab two-routers of Ann is ready until \d\d:\d\d UTC$/,
  session_degraded: /^Lab two-routers of Ann is degraded$/,
  session_down: /^Lab two-routers of Ann is down$/,
  session_moved: /^Lab two-routers of Ann moves to another worker$/,
  session_lost: /^Lab two-routers of Ann ended early$/,
  session_at_risk: /^Lab two-routers of Ann may not start at \d\d:\d\d UTC$/,
  session_ends_soon: /^Lab two-routers of Ann ends at \d\d:\d\d UTC$/,
  capacity_short: /^Lab two-routers of Ann waits for capacity$/,
  worker_failed: /^Worker metal-1 is not available$/,
  license_leak: /^The license of metal-1 was not returned$/,
  budget: /^A budget is used up$/,
  capacity_ahead: /^More is booked than the limits allow$/,
}

it.each(NOTIFICATION_KINDS)('%s reaches a webhook, Slack and an inbox, once each', async kind => {
  const { received, base, setting } = await receivers()
  const plane = aControlPlane({ notifications: setting })
  const targets = [
    { name: 'hook', type: 'webhook', url: `${base}/hook`, signing_key: 'a-key-of-16-chars-and-more' },
    { name: 'chat', type: 'slack', url: `${base}/slack` },
    { name: 'mail', type: 'email', to: ['ops@example.com'] },
  ]
  for (const json of targets)
    expect((await plane.send('POST', 'notification-targets', { json: { ...json, kinds: [kind] } })).status).toBe(201)
  const stop = plane.run('notifier')
  await plane.clock.advance(1_000)
  await HAPPENINGS[kind](plane)
  // The clock stands still while real requests are answered.
  while ((await plane.all('notifications')).length < targets.length) await plane.clock.advance(5_000)
  const statuses = async () => (await plane.all('notifications')).map(({ status }) => status)
  await expect.poll(statuses).toEqual(['DELIVERED', 'DELIVERED', 'DELIVERED'])
  await plane.clock.advance(MINUTE_MS)
  expect(Object.values(received).map(({ length }) => length)).toEqual([1, 1, 1])
  for (const [text = ''] of Object.values(received)) expect(text.split('\n')[0]).toMatch(TITLES[kind])
  await stop()
})

it('a test message arrives, and its real outcome is returned', async () => {
  const { received, base, setting } = await receivers()
  const plane = aControlPlane({ notifications: setting })
  const create = async (json: object) => (await plane.send('POST', 'notification-targets', { json })).json.id
  const chat = await create({ name: 'chat', type: 'slack', url: `${base}/slack` })
  const mail = await create({ name: 'mail', type: 'email', to: ['ops@example.com'] })
  const gone = await create({ name: 'gone', type: 'webhook', url: 'http://127.0.0.1:8443/' })
  const owners = await create({ name: 'owners', type: 'email', to_owner: true })
  const test = async (id: string) => (await plane.send('POST', `notification-targets/${id}/test`)).json
  expect([await test(chat), await test(mail)]).toEqual(
    Array.from({ length: 2 }, () => ({ delivered: true, error: null })),
  )
  expect(received.slack[0]).toMatch(/^Test message of LCM to chat\n/)
  expect(received.email).toEqual(['Test message of LCM to mail'])
  expect(await test(gone)).toEqual({ delivered: false, error: expect.stringContaining('is not public') })
  expect(await test(owners)).toEqual({ delivered: false, error: expect.stringContaining('you have no email address') })
})
