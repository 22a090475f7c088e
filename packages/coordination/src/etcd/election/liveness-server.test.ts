import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { listen } from './liveness-server.ts'

it("survives every connection that can't be accepted", async () => {
  const server = createServer()
  onTestFinished(() => void server.close())
  await listen(server, '127.0.0.1')
  for (let n = 0; n < 3; n += 1) expect(server.emit('error', new Error('accept EMFILE'))).toBe(true)
})
