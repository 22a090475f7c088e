import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type CuttableProxy, startCuttableProxy, startCuttableProxyToPort } from './cuttable-proxy.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Says everything twice as loud. */
async function shouter(host = '127.0.0.1', port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer(socket => {
    socket.on('data', message => socket.write(message.toString().toUpperCase()))
    socket.on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(port, host, resolve))
  closing.push(() => server.close())
  const address = server.address()
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

function caller(host: string, endpoint: string): { say(text: string): void; heard(): string; socket: Socket } {
  const socket = connect({ host, port: Number(endpoint.split(':')[1]) })
  closing.push(() => socket.destroy())
  let heard = ''
  socket.on('data', text => {
    heard += text
  })
  return { say: text => void socket.write(text), heard: () => heard, socket }
}

const opened = (gate: CuttableProxy): CuttableProxy => {
  closing.push(() => gate.close())
  return gate
}

it('holds back only those who began with certain words, the old and the new, and gives it to them when it opens', async () => {
  const { port } = await shouter()
  const gate = opened(await startCuttableProxy(`127.0.0.1:${port}`))
  const [ann, bob] = [caller('127.0.0.1', gate.endpoint), caller('127.0.0.1', gate.endpoint)]
  ann.say('ann ')
  bob.say('bob ')
  await expect.poll(() => [ann.heard(), bob.heard()]).toEqual(['ANN ', 'BOB '])
  gate.shut(opening => opening.toString().startsWith('ann'))
  const annAgain = caller('127.0.0.1', gate.endpoint)
  annAgain.say('ann again')
  ann.say('and more')
  bob.say('and more')
  await expect.poll(() => bob.heard()).toBe('BOB AND MORE')
  expect([ann.heard(), annAgain.heard()]).toEqual(['ANN ', ''])
  gate.open()
  await expect.poll(() => [ann.heard(), annAgain.heard()]).toEqual(['ANN AND MORE', 'ANN AGAIN'])
  expect(gate.passed).toBe(3)
})

it('leads to a port of whichever loopback address it is asked at', async () => {
  const { port } = await shouter('127.77.0.1')
  const gate = opened(await startCuttableProxyToPort(port))
  const ann = caller('127.77.0.1', gate.endpoint)
  gate.shut()
  ann.say('ann')
  await expect.poll(() => gate.passed).toBe(1)
  expect(ann.heard()).toBe('')
  gate.open()
  await expect.poll(() => ann.heard()).toBe('ANN')
})
