import { connect, createServer, type Socket } from 'node:net'

/** A proxy that can hold back data in both directions without ending a connection. */
export interface CuttableProxy {
  /** `host:port` for the clients. */
  readonly endpoint: string
  /** Number of connections so far. */
  readonly passed: number
  /** Holds back all connections, or those whose first or next message matches. */
  shut(isMeant?: (message: Buffer) => boolean): void
  open(): void
  /** Forwards the first message that matches and then shuts, so that its response never arrives. */
  shutAfter(matches: (message: Buffer) => boolean): Promise<void>
  close(): void
}

export const startCuttableProxy = (target: string): Promise<CuttableProxy> => startProxy(() => target, '127.0.0.1')

/** A proxy on every loopback address: it connects to this port of the address that the client used. */
export const startCuttableProxyToPort = (port: number): Promise<CuttableProxy> =>
  startProxy(({ localAddress = '' }) => (localAddress.startsWith('127.') ? `${localAddress}:${port}` : null), '0.0.0.0')

/** One connection and the data that is held back. */
interface ProxiedConnection {
  readonly inner: Socket
  readonly outer: Socket
  /** First message; null before it. */
  opening: Buffer | null
  isHeld: boolean
  readonly kept: Buffer[]
}

async function startProxy(targetOf: (inner: Socket) => string | null, listenAt: string): Promise<CuttableProxy> {
  const connections = new Set<ProxiedConnection>()
  let passed = 0
  let isShut = false
  let isMeant: ((message: Buffer) => boolean) | undefined
  let onMessage: (message: Buffer) => void = () => undefined
  const holdBack = (connection: ProxiedConnection, message: Buffer | null) => {
    connection.isHeld ||= isShut && (isMeant === undefined || (message !== null && isMeant(message)))
    if (!connection.isHeld) return
    connection.inner.pause()
    connection.outer.pause()
  }
  const shut: CuttableProxy['shut'] = only => {
    isShut = true
    isMeant = only
    for (const connection of connections) holdBack(connection, connection.opening)
  }

  const server = createServer({ noDelay: true }, inner => {
    const target = targetOf(inner)
    if (target === null) return void inner.destroy()
    const [host = '', port = ''] = target.split(':')
    const outer = connect({ host, port: Number(port), noDelay: true })
    const connection: ProxiedConnection = { inner, outer, opening: null, isHeld: false, kept: [] }
    connections.add(connection)
    passed += 1
    holdBack(connection, null)
    inner.on('data', message => {
      connection.opening ??= message
      holdBack(connection, message)
      if (connection.isHeld) return void connection.kept.push(message)
      outer.write(message)
      onMessage(message)
    })
    outer.on('data', message => inner.write(message))
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        connections.delete(connection)
        other.destroy()
      })
    }
  })

  await new Promise<void>(resolve => server.listen(0, listenAt, resolve))
  const address = server.address()
  return {
    endpoint: `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    get passed() {
      return passed
    },
    shut,
    open() {
      isShut = false
      onMessage = () => undefined
      for (const connection of connections) {
        const { inner, outer, kept } = connection
        connection.isHeld = false
        for (const message of kept.splice(0)) outer.write(message)
        inner.resume()
        outer.resume()
      }
    },
    shutAfter: matches =>
      new Promise(resolve => {
        onMessage = message => {
          if (!matches(message)) return
          onMessage = () => undefined
          shut()
          resolve()
        }
      }),
    close() {
      server.close()
      for (const { inner, outer } of connections) {
        inner.destroy()
        outer.destroy()
      }
    },
  }
}
