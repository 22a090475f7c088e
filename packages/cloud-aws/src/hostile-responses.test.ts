import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { awsMetrics } from './cloudwatch/machine-metrics.ts'
import { awsCompute } from './ec2/compute.ts'
import { errorXml, instanceXml, pageXml } from './testing/ec2-response-builders.ts'
import { type Answer, rawEndpoint, scriptedEndpoint } from './testing/scripted-endpoint.ts'

const REGION = 'us-east-1'
const CREDENTIALS = { accessKeyId: 'a', secretAccessKey: 'b' }
const DEADLINE_MS = 60_000
const MEGABYTE = 1024 * 1024
const never = new AbortController().signal

const closers: (() => Promise<void>)[] = []
const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

function clientsOf(url: string) {
  const clock = manualClock(Date.UTC(2026, 2, 1, 12, 2))
  const options = { clock, endpoint: url, credentials: CREDENTIALS }
  const compute = awsCompute(options)
  const metrics = awsMetrics(options)
  closers.push(async () => {
    compute.close()
    metrics.close()
  })
  return {
    clock,
    ec2: () => compute.list(REGION, { client_token: 't' }, never),
    cloudwatch: () => metrics.latest(REGION, ['i-1'], never),
  }
}

async function serviceThatAnswers(answer: Answer) {
  const endpoint = await scriptedEndpoint(() => answer)
  const clients = clientsOf(endpoint.url)
  closers.push(endpoint.close)
  return { ...clients, asked: endpoint.asked }
}

const classified = (errorClass: string) => expect.objectContaining({ name: 'CloudError', errorClass })

const html = '<!doctype html><html><head><title>Sign in</title></head><body>captive portal<br></body></html>'
const bomb = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "${'x'.repeat(1000)}">${Array.from(
  { length: 9 },
  (_, n) => `<!ENTITY ${'bcdefghij'[n]} "${`&${'abcdefghi'[n]};`.repeat(10)}">`,
).join('')}]>${pageXml(['i-1']).replace('i-1', '&j;')}`
const outside = `<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>${pageXml(['&x;'])}`

const UNREADABLE: ReadonlyArray<readonly [string, Answer]> = [
  ['an empty 200', { body: '' }],
  ['half an XML answer', { body: pageXml(['i-1', 'i-2']).slice(0, 200) }],
  ['half a JSON answer', { body: '{"MetricDataResults":[{"Id":"cpu_uti' }],
  ['a page of HTML', { body: html, headers: { 'content-type': 'text/html' } }],
  ['entities that grow without end', { body: bomb }],
  ['an entity that names a file', { body: outside }],
  ['zero bytes only', { body: '\0'.repeat(1000) }],
  ['JSON that nests without end', { body: `${'['.repeat(200_000)}` }],
  ['XML that nests without end', { body: '<a>'.repeat(200_000) }],
  ['a redirect', { status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } }],
  ['a lasting redirect with a page', { status: 301, body: html, headers: { location: 'http://127.0.0.1:1/' } }],
  ['nothing new', { status: 304, body: '' }],
  ['a 404 of another server', { status: 404, body: html }],
  ['a length that is not true', response => promise(response, 1000, 'short')],
]

function promise(response: ServerResponse, length: number, body: string): void {
  response.writeHead(200, { 'content-length': String(length) })
  response.write(body)
  response.socket?.end()
}

describe.each(['ec2', 'cloudwatch'] as const)('an answer to %s that cannot be believed', service => {
  it.each(UNREADABLE)('is transient: %s', async (_name, answer) => {
    const clients = await serviceThatAnswers(answer)
    await expect(clients[service]()).rejects.toEqual(classified('transient'))
  })

  it('is aborted above the maximum size, before it fills the memory', async () => {
    const piece = Buffer.alloc(MEGABYTE, ' ')
    let sent = 0
    const flood = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/xml' })
      const more = () => {
        while (!response.destroyed && sent < 1024) {
          sent += 1
          if (!response.write(piece)) return void response.once('drain', more)
        }
      }
      more()
    }
    const clients = await serviceThatAnswers(flood)
    await expect(clients[service]()).rejects.toEqual(classified('transient'))
    expect(sent).toBeLessThan(64)
  })

  it('is aborted at the deadline when it never ends', async () => {
    let isClosed: () => void = () => undefined
    const closed = new Promise<void>(resolve => {
      isClosed = resolve
    })
    const clients = await serviceThatAnswers(response => {
      response.once('close', isClosed)
      response.writeHead(200).write('<a>')
    })
    const ended = expect(clients[service]()).rejects.toEqual(classified('transient'))
    await clients.asked
    await clients.clock.advance(DEADLINE_MS)
    await ended
    await closed
  })
})

describe.each(['ec2', 'cloudwatch'] as const)('a peer of %s that speaks no HTTP', service => {
  const peers: ReadonlyArray<readonly [string, (socket: Socket) => void]> = [
    [
      'sends headers without end',
      socket => endlessly(socket, 'HTTP/1.1 200 OK\r\n', `x-header: ${'y'.repeat(1000)}\r\n`),
    ],
    ['sends one header without end', socket => endlessly(socket, 'HTTP/1.1 200 OK\r\nx-header: ', 'y'.repeat(1000))],
    ['sends rubbish', socket => void socket.end('\0\u0001\u0002 rubbish \r\n\r\n')],
    ['hangs up', socket => void socket.destroy()],
    [
      'breaks off within a chunk',
      socket => void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nx'),
    ],
    ['breaks off within the headers', socket => void socket.end('HTTP/1.1 200 OK\r\ncontent-')],
  ]
  it.each(peers)('is transient: it %s', async (_name, speak) => {
    const endpoint = await rawEndpoint(speak)
    const clients = clientsOf(endpoint.url)
    closers.push(endpoint.close)
    await expect(clients[service]()).rejects.toEqual(classified('transient'))
  })

  it('is aborted at the deadline when its headers trickle', async () => {
    let begun: () => void = () => undefined
    const hasBegun = new Promise<void>(resolve => {
      begun = resolve
    })
    const endpoint = await rawEndpoint(socket => {
      socket.write('HTTP/1.1 200 OK\r\nx-')
      begun()
    })
    const clients = clientsOf(endpoint.url)
    closers.push(endpoint.close)
    const ended = expect(clients[service]()).rejects.toEqual(classified('transient'))
    await hasBegun
    await clients.clock.advance(DEADLINE_MS)
    await ended
  })
})

function endlessly(socket: Socket, first: string, more: string): void {
  socket.write(first)
  const goOn = () => {
    while (!socket.destroyed && socket.writable) if (!socket.write(more)) return void socket.once('drain', goOn)
  }
  goOn()
}

describe('an error response of EC2', () => {
  it.each([
    ['two codes', errorXml('AuthFailure</Code><Code>AuthFailure'), 'Unknown'],
    ['a code that is a list', errorXml('<item>AuthFailure</item>'), 'TypeError'],
    ['a message that is a list', errorXml('AuthFailure', '<item>no</item>'), 'AuthFailure'],
    ['two messages', errorXml('AuthFailure', 'no</Message><Message>never'), 'AuthFailure'],
  ])('is a CloudError even with %s', async (_name, body, code) => {
    const clients = await serviceThatAnswers({ status: 400, body })
    await expect(clients.ec2()).rejects.toMatchObject({ name: 'CloudError', code })
  })
})

describe('a machine in a response of EC2', () => {
  const answered = (machine: string) =>
    `<r><reservationSet><item><reservationId>r</reservationId><instancesSet>${machine}</instancesSet></item></reservationSet></r>`

  it.each([
    ['a date that is none', instanceXml('i-1').replace('</item>', '<launchTime>yesterday</launchTime></item>')],
    ['a zero byte in its id', instanceXml('i-1\0')],
    ['an id that is none', instanceXml('../../i-1')],
    ['no state', '<item><instanceId>i-1</instanceId></item>'],
  ])('makes the whole response invalid by %s', async (_name, machine) => {
    const clients = await serviceThatAnswers({ body: answered(machine) })
    await expect(clients.ec2()).rejects.toEqual(classified('transient'))
  })

  it('is read with any content type, and unusual tags stay on their machine', async () => {
    const tag = '<tagSet><item><key>__proto__</key><value>v</value></item></tagSet>'
    const body = answered(instanceXml('i-1').replace('</item>', `${tag}</item>`))
    const clients = await serviceThatAnswers({ body, headers: { 'content-type': 'application/octet-stream' } })
    const [machine] = await clients.ec2()
    expect(Object.entries(machine?.tags ?? {})).toEqual([['__proto__', 'v']])
    expect(Object.getPrototypeOf(machine?.tags)).toBe(Object.prototype)
  })
})
