import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type CuttableProxy, startCuttableProxy, startCuttableProxyToPort } from './cuttable-proxy.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Echoes everything in upper case. */
async function upperCaseServer(host = '127.0.0.1', port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer(socket => {
    socket.on('data', message => socket.write(message.toString().toUpperCase()))
    socket.on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(port, host, resolve))
  closing.push(() => server.close())
  const address = server.address()
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

function caller(host: string, endpoint: string): { send(text: string): void; received(): string; socket: Socket } {
  const socket = connect({ host, port: Number(endpoint.split(':')[1]) })
  closing.push(() => socket.destroy())
  let received = ''
  socket.on('data', text => {
    received += text
  })
  return { send: text => void socket.write(text), received: () => received, socket }
}

const opened = (proxy: CuttableProxy): CuttableProxy => {
  closing.push(() => proxy.close())
  return proxy
}

it('holds back only connections whose first message matches, old and new, and delivers the data when it opens', async () => {
  const { port } = await upperCaseServer()
  const proxy = opened(await startCuttableProxy(`127.0.0.1:${port}`))
  const [ann, bob] = [caller('127.0.0.1', proxy.endpoint), caller('127.0.0.1', proxy.endpoint)]
  ann.send('ann ')
  bob.send('bob ')
  await expect.poll(() => [ann.received(), bob.received()]).toEqual(['ANN ', 'BOB '])
  proxy.shut(opening => opening.toString().startsWith('ann'))
  const annAgain = caller('127.0.0.1', proxy.endpoint)
  annAgain.send('ann again')
  ann.send('and more')
  bob.send('and more')
  await expect.poll(() => bob.received()).toBe('BOB AND MORE')
  expect([ann.received(), annAgain.received()]).toEqual(['ANN ', ''])
  proxy.open()
  await expect.poll(() => [ann.received(), annAgain.received()]).toEqual(['ANN AND MORE', 'ANN AGAIN'])
  expect(proxy.passed).toBe(3)
})

it('connects to the port of the loopback address that the client used', async () => {
  const { port } = await upperCaseServer('127.77.0.1')
  const proxy = opened(await startCuttableProxyToPort(port))
  const ann = caller('127.77.0.1', proxy.endpoint)
  proxy.shut()
  ann.send('ann')
  await expect.poll(() => proxy.passed).toBe(1)
  expect(ann.received()).toBe('')
  proxy.open()
  await expect.poll(() => ann.received()).toBe('ANN')
})
