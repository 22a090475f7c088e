import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { ApiError, apiClient, isProblem, readSse, UnreachableError } from './client.ts'
import { eventsUnlessSilent } from './event-stream-timeout.ts'
import { pagesOf, readList } from './list-pages.ts'

const answering = (response: Partial<ApiResponse>) => {
  const requests: ApiRequest[] = []
  const client = apiClient(
    async request => {
      requests.push(request)
      return { status: 200, headers: {}, body: null, ...response }
    },
    { token: 'secret' },
  )
  return { client, requests }
}

async function* chunks(...texts: string[]): AsyncGenerator<string> {
  yield* texts
}

describe('a call', () => {
  it('fills in the path, the query, the version and the token', async () => {
    const { client, requests } = answering({ body: '{"id":"w-1"}' })
    const answer = await client.call('stopWorker', { params: { id: 'a/b ?' }, body: { reason: 'x' }, ifMatch: 7 })
    expect(answer).toEqual({ id: 'w-1' })
    expect(requests[0]).toMatchObject({
      method: 'POST',
      url: '/api/v1/workers/a%2Fb%20%3F/stop',
      headers: { authorization: 'Bearer secret', 'if-match': '"7"', 'content-type': 'application/json' },
      body: '{"reason":"x"}',
    })
    await client.call('listWorkers', { query: { limit: 5, q: 'a&b' } })
    expect(requests[1]?.url).toBe('/api/v1/workers?limit=5&q=a%26b')
  })

  it('rejects with the problem that the API names', async () => {
    const problem = { type: 't', title: 'T', status: 409, detail: 'because', code: 'worker_protected' }
    const { client } = answering({ status: 409, body: JSON.stringify(problem) })
    const error = await client.call('info', {}).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ApiError)
    expect(isProblem(error, 'worker_protected')).toBe(true)
    expect(isProblem(error, 'not_found')).toBe(false)
    expect(String(error)).toContain('because')
  })

  it('uses only the status when a proxy responds with its own page', async () => {
    const { client } = answering({ status: 502, body: '<html>bad gateway</html>' })
    await expect(client.call('info', {})).rejects.toMatchObject({ problem: { status: 502, code: 'unknown' } })
  })

  it('rejects a response of another server', async () => {
    const { client } = answering({ body: '<html>hello</html>' })
    await expect(client.call('info', {})).rejects.toBeInstanceOf(UnreachableError)
  })
})

describe('a list', () => {
  const pages = [
    { items: [1, 2], next_cursor: 'b', revision: '10' },
    { items: [3], next_cursor: null, revision: '12' },
  ]
  const read = async ({ cursor }: { cursor?: string }) =>
    pages[cursor === 'b' ? 1 : 0] ?? { items: [], next_cursor: null, revision: '' }

  it('is read to its end', async () => {
    const seen = []
    for await (const page of pagesOf(read)) seen.push(page)
    expect(seen).toEqual([[1, 2], [3]])
  })

  it('keeps the position of its first page, so that no change is missed', async () => {
    expect(await readList(read)).toEqual({ items: [1, 2, 3], revision: '10' })
  })

  it('rejects when a page fails, and never returns a part', async () => {
    const failing = async ({ cursor }: { cursor?: string }) => {
      if (cursor !== undefined) throw new UnreachableError('gone')
      return { items: [1], next_cursor: 'b', revision: '1' }
    }
    await expect(readList(failing)).rejects.toThrow('gone')
  })
})

describe('events', () => {
  it('are read however the stream is split', async () => {
    const text = ': hello\n\nid: 5\ndata: {"a":1}\n\ndata: one\ndata: two\n\nid:6\r\ndata:x\r\n\r\ndata: unfinished'
    for (const size of [1, 2, 7, 1000]) {
      const cut = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
      const messages = []
      for await (const message of readSse(chunks(...cut))) messages.push(message)
      expect(messages, `cut at ${size}`).toEqual([
        { id: '5', data: '{"a":1}' },
        { id: null, data: 'one\ntwo' },
        { id: '6', data: 'x' },
      ])
    }
  })

  it('resume after the position given', async () => {
    const { client, requests } = answering({ body: chunks('id: 9\ndata: {"type":"heartbeat"}\n\n') })
    const events = []
    for await (const event of client.events({ after: '8', signal: new AbortController().signal })) events.push(event)
    expect(requests[0]?.headers['last-event-id']).toBe('8')
    expect(events).toEqual([{ position: '9', event: { type: 'heartbeat' } }])
  })

  it('end with an error when the stream falls silent', async () => {
    const clock = manualClock()
    const silent = apiClient(async ({ signal }) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield 'data: {"type":"heartbeat"}\n\n'
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      })(),
    }))
    const stop = new AbortController()
    const stream = eventsUnlessSilent(
      silent,
      { after: '1', signal: stop.signal },
      { clock, firstMs: 10, betweenMs: 100 },
    )
    expect((await stream.next()).value?.event).toEqual({ type: 'heartbeat' })
    const next = stream.next().catch((error: unknown) => error)
    await clock.advance(99)
    await clock.advance(1)
    expect(await next).toBeInstanceOf(UnreachableError)
  })
})
