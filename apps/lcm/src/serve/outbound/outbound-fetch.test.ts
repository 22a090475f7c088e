import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, LookupFunction, Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { selfSigned } from '@lcm/cloud-sim/cml/certificate'
import { contentSources } from '@lcm/controllers/lablet/content/content-sources'
import { systemClock as clock } from '@lcm/runtime/clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { outboundFetch } from './outbound-fetch.ts'

const never = new AbortController().signal
const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))
/** A public address that no test may contact: it is only ever part of an answer that is refused. */
const PUBLIC = '192.0.1.1'

let servers: Server[]
let connections: number
let answers: Record<string, (string | string[])[]>
let lookups: string[]

beforeEach(() => {
  servers = []
  connections = 0
  answers = {}
  lookups = []
})
afterEach(async () => {
  for (const server of servers) await new Promise(resolve => server.close(resolve))
})

/** Starts to listen on loopback, and counts connections before any byte is read. */
async function listening(server: Server): Promise<number> {
  servers.push(server)
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
const tlsServer = () => {
  const { certificate_pem: cert, key_pem: key } = selfSigned('labs', clock.now())
  return listening(createHttpsServer({ cert, key }))
}
const httpServer = (answer: RequestListener) => listening(createHttpServer(answer))

/** Answers with the next entry of the name; the last one stays. */
const lookup: LookupFunction = (host, { all }, callback) => {
  lookups.push(host)
  const [next = [], ...later] = answers[host] ?? []
  if (later.length > 0) answers[host] = later
  const found = [next].flat().map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  const [first = { address: '', family: 0 }] = found
  if (found.length === 0) callback(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }), '', 0)
  else if (all) callback(null, found)
  else callback(null, first.address, first.family)
}

const get = (url: string, privateHosts: readonly string[] = [], init: RequestInit = {}) =>
  outboundFetch({ privateHosts, lookup })(url, { ...init, headers: { connection: 'close' } })
const refused = { cause: { code: 'ADDRESS_REFUSED' } }

describe('a source that leads into the private network', () => {
  const read = (source: string, privateHosts: readonly string[] = [], resolver: LookupFunction = lookup) =>
    contentSources({
      clock,
      folder: null,
      fetch: outboundFetch({ privateHosts, lookup: resolver }),
      hosts: null,
      objects: null,
      buckets: null,
    }).read(source, never)

  it.each(['127.0.0.1', '::ffff:127.0.0.1', '10.0.0.1', 'fe80::1', '169.254.169.254'])(
    'by a name that resolves to %s opens no connection',
    async address => {
      answers = { 'labs.example': [address] }
      const port = await tlsServer()
      await expect(read(`https://labs.example:${port}/x`)).rejects.toThrow('the address of its host is not public')
      expect([lookups, connections]).toEqual([['labs.example'], 0])
    },
  )

  it.each(['127.0.0.1', '[::1]', '[::ffff:7f00:1]', '2130706433', '0x7f.1', '0.0.0.0'])(
    'by the literal address %s opens no connection',
    async host => {
      const port = await tlsServer()
      await expect(read(`https://${host}:${port}/x`)).rejects.toThrow('the address of its host is not public')
      expect([lookups, connections]).toEqual([[], 0])
    },
  )

  it('with one address of several opens no connection', async () => {
    answers = { 'labs.example': [[PUBLIC, '127.0.0.1']] }
    const port = await tlsServer()
    await expect(read(`https://labs.example:${port}/x`)).rejects.toThrow('is not public')
    expect(connections).toBe(0)
  })

  it('only when it is connected to opens no connection', async () => {
    answers = { 'labs.example': [PUBLIC, '127.0.0.1'] }
    const port = await tlsServer()
    const checked = await new Promise(resolve =>
      lookup('labs.example', {}, (_, address) => {
        resolve(address)
      }),
    )
    expect(checked).toBe(PUBLIC)
    await expect(read(`https://labs.example:${port}/x`)).rejects.toThrow('is not public')
    expect(connections).toBe(0)
  })

  it('opens a connection only if its host is listed, and tells nothing about what answers there', async () => {
    answers = { 'labs.example': ['127.0.0.1'], 'other.example': ['127.0.0.1'] }
    const tls = await tlsServer()
    const listed = [`labs.example:${tls}`]
    await expect(read(`https://labs.example:${tls}/x`, listed)).rejects.toThrow(
      'its host does not show a certificate that LCM trusts',
    )
    expect(connections).toBe(1)
    await expect(read(`https://other.example:${tls}/x`, listed)).rejects.toThrow('is not public')
    expect(connections).toBe(1)
    const plain = await httpServer((_, response) => void response.end())
    const error: Error = await read(`https://labs.example:${plain}/x`, ['labs.example']).catch(failure => failure)
    expect(error.message).not.toContain('wrong version number')
  })

  it('by a name of the system opens no connection', async () => {
    const port = await tlsServer()
    const system = outboundFetch({ privateHosts: [] })
    const sources = contentSources({ clock, folder: null, fetch: system, hosts: null, objects: null, buckets: null })
    await expect(sources.read(`https://localhost:${port}/x`, never)).rejects.toThrow('is not public')
    expect(connections).toBe(0)
  })
})

describe('a fetch', () => {
  it('checks every redirect', async () => {
    answers = { 'start.example': ['127.0.0.1'], 'inside.example': ['127.0.0.1'] }
    const inside = await httpServer((_, response) => void response.end('secret'))
    for (const host of ['inside.example', '127.0.0.1', 'localhost']) {
      const start = await httpServer((_, response) =>
        response.writeHead(302, { location: `http://${host}:${inside}/` }).end(),
      )
      connections = 0
      await expect(get(`http://start.example:${start}/`, ['start.example'])).rejects.toMatchObject(
        host === 'localhost' ? { cause: { code: 'ENOTFOUND' } } : refused,
      )
      expect(connections).toBe(1)
    }
  })

  it('resolves the name again for every connection', async () => {
    answers = { 'start.example': ['127.0.0.1'] }
    const port = await httpServer((_, response) => void response.end('one'))
    const url = `http://start.example:${port}/`
    const fetch = outboundFetch({ privateHosts: ['start.example'], lookup })
    for (const _ of [1, 2]) expect(await (await fetch(url, { headers: { connection: 'close' } })).text()).toBe('one')
    expect(lookups).toEqual(['start.example', 'start.example'])
  })

  it.runIf(hasIpv6)('reaches a listed IPv6 address, with and without its port', async () => {
    const server = createHttpServer((_, response) => void response.end('one'))
    servers.push(server)
    server.listen(0, '::1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const listed of ['[::1]', `[::1]:${port}`])
      expect(await (await get(`http://[::1]:${port}/`, [listed])).text()).toBe('one')
    await expect(get(`http://[::1]:${port}/`, ['[::1]:1'])).rejects.toMatchObject(refused)
  })

  it('sends the request as the platform does', async () => {
    answers = { 'start.example': ['127.0.0.1'] }
    const port = await httpServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.writeHead(201, { 'x-seen': `${request.method} ${request.headers['x-a']}` }).end(body)
    })
    const fetch = outboundFetch({ privateHosts: ['*.example'], lookup })
    const request = { method: 'POST', body: 'text', headers: { 'x-a': 'b', connection: 'close' } }
    const response = await fetch(new URL(`http://start.example:${port}/`), request)
    expect([response.status, response.headers.get('x-seen'), await response.text()]).toEqual([201, 'POST b', 'text'])
  })

  it('ends with its signal', async () => {
    answers = { 'start.example': ['127.0.0.1'] }
    const caller = new AbortController()
    const port = await httpServer(() => caller.abort(new Error('enough')))
    const url = `http://start.example:${port}/`
    await expect(get(url, ['start.example'], { signal: caller.signal })).rejects.toThrow('enough')
    for (const server of servers) if ('closeAllConnections' in server) Object(server).closeAllConnections()
  })

  it('reports a name that is not known', async () => {
    await expect(get('http://nowhere.example/')).rejects.toMatchObject({ cause: { code: 'ENOTFOUND' } })
  })
})
