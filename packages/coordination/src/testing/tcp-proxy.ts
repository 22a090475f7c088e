import { connect, createServer, type Socket } from 'node:net'
import { parseAddress } from '../etcd/client/endpoint.ts'

/** A connection that can be cut, or drop everything silently. */
export interface TcpProxy {
  readonly endpoint: string
  /** While on, nothing passes in either direction, without an error; afterward it does, as TCP retransmits. */
  swallow(isSwallowing: boolean): void
  /** Ends all connections. */
  cut(): void
  /** Delays everything that comes back. */
  delayAnswers(ms: number): void
  close(): Promise<void>
}

export interface TcpProxyOptions {
  after(ms: number, run: () => void): unknown
}

export async function openProxy(target: string, { after }: TcpProxyOptions): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const state = { isSwallowing: false, delayMs: 0 }
  const swallowed: (() => void)[] = []
  const forward = (from: Socket, to: Socket, delay: () => number) => {
    from.on('data', bytes => {
      const pass = () => to.write(bytes)
      if (state.isSwallowing) swallowed.push(pass)
      else if (delay() === 0) pass()
      else after(delay(), pass)
    })
    from.on('close', () => to.destroy())
    from.on('error', () => to.destroy())
  }
  const server = createServer(near => {
    const far = connect(parseAddress(target))
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    forward(near, far, () => 0)
    forward(far, near, () => state.delayMs)
  })
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
  return {
    endpoint: `127.0.0.1:${port}`,
    swallow(isSwallowing) {
      state.isSwallowing = isSwallowing
      if (!isSwallowing) for (const pass of swallowed.splice(0)) pass()
    },
    cut,
    delayAnswers(ms) {
      state.delayMs = ms
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        cut()
      }),
  }
}
