import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ANSWER_MS_MAX } from '@lcm/contract/route-spec'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it, onTestFinished } from 'vitest'
import { UnreachableError } from './client.ts'
import { httpTransport } from './http-transport.ts'

/** A request that has reached a server, whose response the test sends. */
async function sendRequest() {
  const manual = manualClock()
  let count = 0
  let headIsThere: () => void = () => undefined
  const head = new Promise<void>(resolve => {
    headIsThere = resolve
  })
  const clock = {
    ...manual,
    after(ms: number, run: () => void) {
      count += 1
      if (count === 2) headIsThere()
      return manual.after(ms, run)
    },
  }
  const server = createServer()
  const reached = new Promise<ServerResponse>(resolve => server.on('request', (_, response) => resolve(response)))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const { signal } = new AbortController()
  const request = { method: 'GET', url: '/', headers: {}, body: null, signal }
  const outcome = httpTransport({ baseUrl: `http://127.0.0.1:${port}`, clock })(request).catch(
    (error: unknown) => error,
  )
  const response = await reached
  const sendHead = async () => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"a":')
    await head
  }
  return { clock: manual, outcome, response, sendHead }
}

it('waits for longer than the API may take', async () => {
  const { clock, outcome, response } = await sendRequest()
  await clock.advance(ANSWER_MS_MAX + 1_000)
  response.end('{}')
  expect(await outcome).toMatchObject({ status: 200, body: '{}' })
})

it('times out when the server does not respond', async () => {
  const { clock, outcome } = await sendRequest()
  await clock.advance(ANSWER_MS_MAX + 5_000)
  expect(await outcome).toBeInstanceOf(UnreachableError)
})

it('starts a new timeout for the body after the head', async () => {
  const { clock, outcome, response, sendHead } = await sendRequest()
  await clock.advance(ANSWER_MS_MAX)
  await sendHead()
  await clock.advance(ANSWER_MS_MAX)
  response.end('1}')
  expect(await outcome).toMatchObject({ status: 200, body: '{"a":1}' })
})

it('times out when a body does not end', async () => {
  const { clock, outcome, sendHead } = await sendRequest()
  await sendHead()
  await clock.advance(60_000)
  expect(await outcome).toBeInstanceOf(UnreachableError)
})
