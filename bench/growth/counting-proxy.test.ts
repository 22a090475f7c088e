import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { countingProxy } from './counting-proxy.ts'

it('counts requests by method and path without ids, and forwards everything', async () => {
  const server = createServer((request, response) => request.pipe(response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const proxy = await countingProxy(`http://127.0.0.1:${port}`)
  const body = 'x'.repeat(100_000)
  const answer = await fetch(`${proxy.url}/api/v1/workers/w-001/status?x=1`, { method: 'POST', body })
  expect(await answer.text()).toBe(body)
  for (const id of ['w-1', 'w-2']) await (await fetch(`${proxy.url}/api/v1/workers/${id}`)).text()
  expect(proxy.counts.get('POST /workers/{id}/status')).toBe(1)
  expect(proxy.counts.get('GET /workers/{id}')).toBe(2)
  proxy.close()
  server.close()
})
