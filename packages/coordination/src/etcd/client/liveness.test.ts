import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { listening } from './liveness.ts'

it('survives every connection that can not be accepted', async () => {
  const server = createServer()
  onTestFinished(() => void server.close())
  await listening(server, '127.0.0.1')
  for (let n = 0; n < 3; n += 1) expect(server.emit('error', new Error('accept EMFILE'))).toBe(true)
})
