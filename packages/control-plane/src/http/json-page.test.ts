import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { jsonPage, memoizePerObject } from './json-page.ts'
import { startServer } from './server.ts'

const text = (bytes: { data: Uint8Array }) => Buffer.from(bytes.data).toString()

describe('a page made of JSON', () => {
  it('equals its parts', () => {
    const items = ['Grüße', '日本', 'plain'].map(
      name => [Buffer.from(`{"name":"${name}"`), `,"again":"${name}"}`] as const,
    )
    expect(JSON.parse(text(jsonPage(items, { next_cursor: 'ü', revision: '7' })))).toEqual({
      items: ['Grüße', '日本', 'plain'].map(name => ({ name, again: name })),
      next_cursor: 'ü',
      revision: '7',
    })
    expect(text(jsonPage([], { next_cursor: null }))).toBe('{"items":[],"next_cursor":null}')
  })

  it('shares no memory with another page in use', () => {
    const first = jsonPage([[Buffer.from('1'), '']], { n: 1 })
    const second = jsonPage([[Buffer.from('2'), '']], { n: 2 })
    expect([text(first), text(second)]).toEqual(['{"items":[1],"n":1}', '{"items":[2],"n":2}'])
    first.done()
    expect([text(jsonPage([], { n: 3 })), text(second)]).toEqual(['{"items":[],"n":3}', '{"items":[2],"n":2}'])
  })
})

it('computes one result per object', () => {
  let made = 0
  const numbered = memoizePerObject((_: object) => ++made)
  const [one, other] = [{}, {}]
  expect([numbered(one), numbered(other), numbered(one)]).toEqual([1, 2, 1])
})

describe('the list of workers', () => {
  it('shows each worker like a single read', async () => {
    const plane = aControlPlane()
    const { id } = await plane.create({ name: 'Zürich – 東京', labels: { environment: 'prod' } })
    await plane.create()
    const one = async () => (await plane.send('GET', `workers/${id}`)).json
    const listed = async () => (await plane.send('GET', 'workers')).json
    expect((await listed()).items[0]).toEqual(await one())
    await plane.send('PATCH', `workers/${id}`, { json: { name: 'another' } })
    await plane.store.series.append([{ series: `worker:${id}`, at: '2026-01-01T00:00:00.000Z', body: SAMPLE }])
    await plane.clock.advance(60_000)
    const [first, second] = (await listed()).items
    expect(first).toEqual(await one())
    expect([first.name, first.nodes_count, second.nodes_count]).toEqual(['another', 3, null])
  })

  const SAMPLE = {
    collected_at: '2026-01-01T00:00:00.000Z',
    cpu_utilization: 0.5,
    nodes_count: 3,
    system_health: { ok: true },
  }
})

describe('over HTTP', () => {
  const LENGTH = 64 * 1024 * 1024

  async function served(done: () => void) {
    const bytes = { data: Buffer.alloc(LENGTH, 'x'), done }
    const server = await startServer({
      dispatch: async () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: '', bytes }),
      clock: manualClock(),
      host: '127.0.0.1',
      port: 0,
      hostnames: ['127.0.0.1'],
      consoleDir: null,
    })
    const request = get(`${server.url}/api/v1/workers`)
    const [response]: IncomingMessage[] = await once(request, 'response')
    if (response === undefined) throw new Error('no answer')
    return { server, request, response }
  }

  it('releases the memory when everything is sent, and not before', async () => {
    const events: string[] = []
    let finish: () => void = () => undefined
    const done = new Promise<void>(resolve => {
      finish = resolve
    })
    const { server, response } = await served(() => {
      events.push('done')
      finish()
    })
    expect([response.headers['content-length'], response.headers['content-type'], events]).toEqual([
      String(LENGTH),
      'application/json',
      [],
    ])
    let length = 0
    for await (const chunk of response) length += chunk.length
    await done
    expect([length, events]).toEqual([LENGTH, ['done']])
    await server.close()
  })

  it('releases it when the client disconnects', async () => {
    let finish: () => void = () => undefined
    const done = new Promise<void>(resolve => {
      finish = resolve
    })
    const { server, request } = await served(() => finish())
    request.destroy()
    await done
    await server.close()
  })
})
