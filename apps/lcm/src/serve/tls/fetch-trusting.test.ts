import { once } from 'node:events'
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { httpTransport } from '@lcm/client/http-transport'
import { makeCertificates } from '@lcm/coordination/testing/certificates'
import { systemClock } from '@lcm/runtime/clock'
import { createHttpServer } from '@lcm/runtime/http-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchTrusting } from './fetch-trusting.ts'

const certificates = makeCertificates()
const others = makeCertificates()
const folder = mkdtempSync(join(tmpdir(), 'lcm-ca-'))
let server: Server
let at = ''
beforeAll(async () => {
  const certificate = { cert: certificates.text('server.crt'), key: certificates.text('server.key') }
  server = createHttpServer({ certificate }, (request, response) => {
    // Each request opens a connection.
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
    request.pipe(response)
  })
  // The certificate is for 127.0.0.1 alone.
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  at = `127.0.0.1:${Object(server.address()).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  certificates.remove()
  others.remove()
})

const post = async (baseUrl: string, caFile?: string) => {
  const transport = httpTransport({ baseUrl, clock: systemClock, fetch: await fetchTrusting(caFile) })
  const { signal } = new AbortController()
  return (await transport({ method: 'POST', url: '/', headers: {}, body: '{"hello":1}', signal })).body
}

it('trusts the authorities in the file, which is read for each connection', async () => {
  const ca = join(folder, 'ca.crt')
  copyFileSync(certificates.path('ca.crt'), ca)
  expect(await post(`https://${at}`, ca)).toBe('{"hello":1}')
  const transport = httpTransport({ baseUrl: `https://${at}`, clock: systemClock, fetch: await fetchTrusting(ca) })
  const get = async () =>
    transport({ method: 'GET', url: '/', headers: {}, body: null, signal: new AbortController().signal })
  copyFileSync(others.path('ca.crt'), ca)
  await expect(get()).rejects.toThrow('signed by an authority that is not trusted here')
  copyFileSync(certificates.path('ca.crt'), ca)
  expect((await get()).status).toBe(200)
})

it.each([
  [
    'an unknown authority',
    () => post(`https://${at}`),
    /^the certificate of https:\S+ is signed by an authority that is not trusted here: set LCM_CA_FILE/,
  ],
  [
    'another name',
    () => post(`https://${at.replace('127.0.0.1', '127.0.0.2')}`, certificates.path('ca.crt')),
    /^the certificate of https:\S+ is for other host names: use a host name/,
  ],
])('explains a certificate of %s', async (_, asking, sentence) => {
  const error = await asking().catch((reason: unknown) => reason)
  expect(`${Object(error).message}: ${Object(error).advice}`).toMatch(sentence)
})

it('refuses a file without a certificate', async () => {
  const empty = join(folder, 'empty')
  writeFileSync(empty, '')
  for (const [path, what] of [
    [empty, 'has no certificate in PEM format'],
    ['/nowhere', 'does not exist'],
  ])
    await expect(fetchTrusting(path)).rejects.toMatchObject({
      name: 'StartupError',
      message: `LCM_CA_FILE=${path} ${what}`,
    })
  expect(await fetchTrusting(undefined)).toBeUndefined()
  expect(await fetchTrusting('')).toBeUndefined()
})
