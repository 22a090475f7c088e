import { connect, createServer, type Socket } from 'node:net'

/** Stands between a process and a server and can hold back what they say, in either direction, without ending a connection. */
export interface CuttableProxy {
  /** `host:port`, for whoever is to be held back. */
  readonly endpoint: string
  /** How many connections were ever made through it. */
  readonly passed: number
  /** Everybody, or only those whose first message matched, or whose next one does. */
  shut(isMeant?: (message: Buffer) => boolean): void
  open(): void
  /** Lets the first message that matches reach the server and shuts then, so that its answer never comes. */
  shutBehind(matches: (message: Buffer) => boolean): Promise<void>
  close(): void
}

export const startCuttableProxy = (target: string): Promise<CuttableProxy> => gateTo(() => target, '127.0.0.1')

/** For a port at any loopback address: whoever asks this gate at an address of theirs is led to that port there. */
export const startCuttableProxyToPort = (port: number): Promise<CuttableProxy> =>
  gateTo(({ localAddress = '' }) => (localAddress.startsWith('127.') ? `${localAddress}:${port}` : null), '0.0.0.0')

/** One connection, and what was held back of it. */
interface Passage {
  readonly inner: Socket
  readonly outer: Socket
  /** What was said first; null until then. */
  opening: Buffer | null
  isHeld: boolean
  readonly kept: Buffer[]
}

async function gateTo(targetOf: (inner: Socket) => string | null, listenAt: string): Promise<CuttableProxy> {
  const passages = new Set<Passage>()
  let passed = 0
  let isShut = false
  let isMeant: ((message: Buffer) => boolean) | undefined
  let look: (message: Buffer) => void = () => undefined
  const holdBack = (passage: Passage, said: Buffer | null) => {
    passage.isHeld ||= isShut && (isMeant === undefined || (said !== null && isMeant(said)))
    if (!passage.isHeld) return
    passage.inner.pause()
    passage.outer.pause()
  }
  const shut: CuttableProxy['shut'] = only => {
    isShut = true
    isMeant = only
    for (const passage of passages) holdBack(passage, passage.opening)
  }

  const server = createServer({ noDelay: true }, inner => {
    const target = targetOf(inner)
    if (target === null) return void inner.destroy()
    const [host = '', port = ''] = target.split(':')
    const outer = connect({ host, port: Number(port), noDelay: true })
    const passage: Passage = { inner, outer, opening: null, isHeld: false, kept: [] }
    passages.add(passage)
    passed += 1
    holdBack(passage, null)
    inner.on('data', message => {
      passage.opening ??= message
      holdBack(passage, message)
      if (passage.isHeld) return void passage.kept.push(message)
      outer.write(message)
      look(message)
    })
    outer.on('data', message => inner.write(message))
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        passages.delete(passage)
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
      look = () => undefined
      for (const passage of passages) {
        const { inner, outer, kept } = passage
        passage.isHeld = false
        for (const message of kept.splice(0)) outer.write(message)
        inner.resume()
        outer.resume()
      }
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
      for (const { inner, outer } of passages) {
        inner.destroy()
        outer.destroy()
      }
    },
  }
}
