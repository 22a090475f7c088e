import { connect, createServer, type Socket } from 'node:net'

export interface CountingProxy {
  readonly url: string
  /** Number of requests by method and path without ids. */
  readonly counts: ReadonlyMap<string, number>
  close(): void
}

const REQUEST = /^([A-Z]+) \/api\/v1([^ ?]*)\S* HTTP\/1\.1\r\n/

/** A proxy between a controller and the API that counts requests. A connection has one request at a time. */
export async function countingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const counts = new Map<string, number>()
  const server = createServer(client => {
    const api = connect({ host: hostname, port: Number(port), noDelay: true })
    client.setNoDelay(true)
    client.on('data', chunk => {
      const [, method, path] = REQUEST.exec(chunk.toString('latin1', 0, 4096)) ?? []
      if (path === undefined) return
      const kind = `${method} ${path.replace(/\/[\w-]*\d[\w-]*/g, '/{id}')}`
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
    })
    for (const [from, to] of [
      [client, api],
      [api, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    counts,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
