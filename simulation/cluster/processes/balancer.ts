import { connect, createServer, type Socket } from 'node:net'

/** A load balancer: each connection goes to the next server that accepts it. */
export async function startBalancer(targets: readonly string[]): Promise<{ url: string; close(): void }> {
  const open = new Set<Socket>()
  let next = 0

  function forward(inner: Socket, tries: number): void {
    if (tries === 0) return void inner.destroy()
    const { hostname, port } = new URL(targets[next++ % targets.length] ?? '')
    const outer = connect({ host: hostname, port: Number(port), noDelay: true })
    outer.once('error', () => forward(inner, tries - 1))
    outer.once('connect', () => {
      outer.removeAllListeners('error')
      join(inner, outer)
    })
  }
  function join(inner: Socket, outer: Socket): void {
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      open.add(from)
      from.on('error', () => from.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }

  const server = createServer({ noDelay: true }, inner => {
    inner.on('error', () => inner.destroy())
    forward(inner, targets.length)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    close() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
