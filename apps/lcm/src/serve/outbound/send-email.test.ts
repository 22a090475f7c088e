import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { selfSigned } from '@lcm/cloud-sim/cml/certificate'
import { systemClock } from '@lcm/runtime/clock'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, it } from 'vitest'
import { apiEnvironment, upEnvironment } from '../environment/environment.ts'
import { notificationsOf } from './notification-setting.ts'
import { emailSender } from './send-email.ts'

const never = new AbortController().signal
const { certificate_pem: cert, key_pem: key } = selfSigned('localhost', systemClock.now())
const EMAIL = {
  id: 'no-1',
  to: ['ann@example.com', 'bob@example.com'],
  subject: 'Ready – soon',
  text: 'a text',
  html: '<p>a text</p>',
}

const open: (SMTPServer | Server)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map(server => new Promise<void>(done => void server.close(() => done()))))
})

/** A real SMTP server with one account, and everything that it accepted. */
async function aServer(more: SMTPServerOptions = {}) {
  const received: { from: string; to: string[]; user: unknown; secure: boolean; raw: string }[] = []
  const server = new SMTPServer({
    cert,
    key,
    logger: false,
    onAuth({ username, password }, _, callback) {
      if (username === 'lcm' && password === 'pass word') return callback(null, { user: username })
      callback(Object.assign(new Error('Invalid login'), { responseCode: 535 }))
    },
    onData(stream, session, callback) {
      let raw = ''
      stream.on('data', chunk => {
        raw += chunk
      })
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        received.push({
          from,
          to: rcptTo.map(({ address }) => address),
          user: session.user,
          secure: session.secure,
          raw,
        })
        callback()
      })
    },
    ...more,
  })
  // What a client does wrong is what the tests are about.
  server.on('error', () => undefined)
  open.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { received, port: (server.server.address() as AddressInfo).port }
}

const send = (url: string, more: { ca?: string; privateHosts?: string[]; to?: string[] } = {}, signal = never) => {
  const { ca = cert, privateHosts = ['localhost'], to = EMAIL.to } = more
  return emailSender({ url, from: 'lcm@example.com', outbound: { privateHosts }, ca })({ ...EMAIL, to }, signal)
}

describe('an email', () => {
  it.each(['smtp', 'smtps'])('is sent encrypted and signed in, by %s', async protocol => {
    const { received, port } = await aServer({ secure: protocol === 'smtps' })
    expect(await send(`${protocol}://lcm:pass%20word@localhost:${port}`)).toEqual({ outcome: 'accepted' })
    const [email] = received
    expect(email).toMatchObject({ from: 'lcm@example.com', to: EMAIL.to, user: 'lcm', secure: true })
    for (const part of ['Message-ID: <no-1@example.com>', 'Auto-Submitted: auto-generated', 'a text', '<p>a text</p>'])
      expect(email?.raw).toContain(part)
    expect(email?.raw).toMatch(/^Subject: =\?UTF-8\?/m)
  })

  it('is never sent unencrypted', async () => {
    const { received, port } = await aServer({ hideSTARTTLS: true, disabledCommands: ['STARTTLS', 'AUTH'] })
    expect(await send(`smtp://localhost:${port}`)).toMatchObject({ outcome: 'failed' })
    expect(received).toEqual([])
  })

  it.each(['smtp', 'smtps'])('is not sent to a server whose certificate is not trusted, by %s', async protocol => {
    const { received, port } = await aServer({ secure: protocol === 'smtps', authOptional: true })
    const other = selfSigned('localhost', systemClock.now()).certificate_pem
    const delivery = await send(`${protocol}://localhost:${port}`, { ca: other })
    expect(delivery).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('certificate') })
    expect(received).toEqual([])
  })

  it('is retried after a wrong login, and the password is never shown', async () => {
    const { port } = await aServer()
    const delivery = await send(`smtp://lcm:s3cret-word@localhost:${port}`)
    expect(delivery).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('535') })
    expect(JSON.stringify(delivery)).not.toContain('s3cret-word')
  })

  it.each([
    [550, 'refused'],
    [450, 'failed'],
  ])('that is answered with %i is %s', async (responseCode, outcome) => {
    const { port } = await aServer({
      authOptional: true,
      onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error('not here'), { responseCode })),
    })
    expect(await send(`smtp://localhost:${port}`)).toMatchObject({ outcome })
  })

  it('reaches those recipients that the server accepts', async () => {
    const { received, port } = await aServer({
      authOptional: true,
      onRcptTo: ({ address }, _session, callback) =>
        callback(address.startsWith('bob') ? Object.assign(new Error('not here'), { responseCode: 550 }) : null),
    })
    expect(await send(`smtp://localhost:${port}`)).toEqual({ outcome: 'accepted' })
    expect(received.map(({ to }) => to)).toEqual([['ann@example.com']])
  })

  it('opens no connection to an address that is not public, unless its host is listed', async () => {
    let connections = 0
    const server = createServer(() => {
      connections += 1
    })
    open.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      expect(await send(`smtp://${host}:${port}`, { privateHosts: [] })).toEqual({
        outcome: 'failed',
        reason: 'its address is not public; list its host in LCM_OUTBOUND_PRIVATE_HOSTS to allow it',
      })
    expect(connections).toBe(0)
  })

  it('ends with its service while a server says nothing', async () => {
    const stop = new AbortController()
    const server = createServer(() => stop.abort())
    open.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    expect(await send(`smtp://localhost:${port}`, {}, stop.signal)).toMatchObject({ outcome: 'failed' })
  })

  it('fails when nothing listens', async () => {
    const { port } = await aServer()
    await Promise.all(open.splice(0).map(server => new Promise<void>(done => void server.close(() => done()))))
    expect(await send(`smtp://localhost:${port}`)).toMatchObject({ outcome: 'failed' })
  })
})

describe('the SMTP server', () => {
  it('is set by its address and a sender, which need each other', () => {
    expect(notificationsOf(upEnvironment({}), '/lcm').sendEmail).toBeNull()
    const given = { LCM_SMTP_URL: 'smtp://u:p@mail.example', LCM_SMTP_FROM: 'lcm@example.com' }
    expect(notificationsOf(upEnvironment(given), '/lcm').sendEmail).not.toBeNull()
    for (const name of ['LCM_SMTP_URL', 'LCM_SMTP_FROM'] as const)
      expect(() => upEnvironment({ [name]: given[name] })).toThrow('LCM_SMTP_URL and LCM_SMTP_FROM need each other')
    for (const url of ['http://u:secret@x', 'smtp://u:100%@x'])
      expect(() => apiEnvironment({ LCM_SMTP_URL: url })).toThrow(/LCM_SMTP_URL=\(hidden\)/)
  })
})
