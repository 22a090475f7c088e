import { connect, createServer, type Socket } from 'node:net'

/** Stands between a process and a server and can hold back what they say, in either direction, without ending a connection. */
export interface Gate {
  /** `host:port`, for whoever is to be held back. */
  readonly endpoint: string
  shut(): void
  open(): void
  /** Lets the first message that matches reach the server and shuts then, so that its answer never comes. */
  shutBehind(matches: (message: Buffer) => boolean): Promise<void>
  close(): void
}

export async function startGate(target: string): Promise<Gate> {
  const [host = '', port = ''] = target.split(':')
  const passages = new Set<Socket>()
  let isShut = false
  let look: (message: Buffer) => void = () => undefined
  const shut = () => {
    isShut = true
    for (const socket of passages) socket.pause()
  }

  const server = createServer({ noDelay: true }, inner => {
    const outer = connect({ host, port: Number(port), noDelay: true })
    join(inner, outer, message => look(message))
    join(outer, inner, () => undefined)
  })
  function join(from: Socket, to: Socket, onMessage: (message: Buffer) => void): void {
    passages.add(from)
    if (isShut) from.pause()
    from.on('data', message => {
      to.write(message)
      onMessage(message)
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      passages.delete(from)
      to.destroy()
    })
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    endpoint: `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    shut,
    open() {
      isShut = false
      look = () => undefined
      for (const socket of passages) socket.resume()
    },
    shutBehind: matches =>
      new Promise(resolve => {
        look = message => {
          if (!matches(message)) return
          look = () => undefined
          shut()
          resolve()
        }
      }),
    close() {
      server.close()
      for (const socket of passages) socket.destroy()
    },
  }
}
