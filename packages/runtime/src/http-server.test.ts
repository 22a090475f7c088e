import { once } from 'node:events'
import type { Server } from 'node:http'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { makeCertificates } from '@lcm/coordination/testing/certificates'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHttpServer, replaceCertificate } from './http-server.ts'

const certificates = makeCertificates()
const pair = (name: string) => ({ cert: certificates.text(`${name}.crt`), key: certificates.text(`${name}.key`) })
let server: Server
beforeAll(async () => {
  certificates.signServer('renewed')
  server = createHttpServer({ certificate: pair('server') }, (request, response) => response.end(request.url))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  certificates.remove()
})

async function open(options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { port } = Object(server.address())
  const socket = connect({ host: '127.0.0.1', port, ca: certificates.text('ca.crt'), ...options })
  await once(socket, 'secureConnect')
  return socket
}

async function get(socket: TLSSocket, path: string): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  const [answer] = await once(socket, 'data')
  return String(answer)
}

it('refuses TLS below 1.2', async () => {
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await expect(open(old)).rejects.toThrow()
  const socket = await open({ maxVersion: 'TLSv1.2' })
  expect(socket.getProtocol()).toBe('TLSv1.2')
  socket.destroy()
})

it('shows a new certificate to new connections, also to those that resume a session, and keeps open ones', async () => {
  const before = await open()
  const session = once(before, 'session')
  expect(before.getPeerCertificate().subject.CN).toBe('server')
  expect(await get(before, '/one')).toContain('/one')
  replaceCertificate(server, pair('renewed'))
  const after = await open()
  expect(after.getPeerCertificate().subject.CN).toBe('renewed')
  const resumed = await open({ session: (await session)[0] })
  expect(resumed.isSessionReused()).toBe(false)
  expect(resumed.getPeerCertificate().subject.CN).toBe('renewed')
  expect(await get(before, '/two')).toContain('/two')
  for (const socket of [before, after, resumed]) socket.destroy()
})

it('leaves a server without a certificate as it is', async () => {
  const plain = createHttpServer({ certificate: null }, (_, response) => response.end('plain'))
  replaceCertificate(plain, pair('renewed'))
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  expect(await (await fetch(`http://127.0.0.1:${Object(plain.address()).port}`)).text()).toBe('plain')
  plain.closeAllConnections()
  plain.close()
})
