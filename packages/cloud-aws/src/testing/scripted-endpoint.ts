import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net'

/** Response to a request. Null leaves it hanging; a function writes the response itself. */
export type Answer =
  | { readonly status?: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse) => void)
  | null

/** By the number of the request, from 1, and its body. */
export type Script = (call: number, body: string) => Answer

export interface Endpoint {
  readonly url: string
  readonly bodies: readonly string[]
  /** Resolves when the first request has arrived. */
  readonly asked: Promise<void>
  close(): Promise<void>
}

/** A server on loopback with scripted responses. */
export async function scriptedEndpoint(script: Script): Promise<Endpoint> {
  const bodies: string[] = []
  let tellAsked: () => void = () => undefined
  const asked = new Promise<void>(resolve => {
    tellAsked = resolve
  })
  const server = createServer(async (request, response) => {
    const body = await textOf(request)
    bodies.push(body)
    tellAsked()
    answer(response, script(bodies.length, body))
  })
  return { url: await listening(server), bodies, asked, close: () => closed(server) }
}

function answer(response: ServerResponse, given: Answer): void {
  if (given === null) return
  if (typeof given === 'function') given(response)
  else response.writeHead(given.status ?? 200, given.headers).end(given.body)
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

/** A raw TCP server: for bytes that an HTTP server would never send. */
export async function rawEndpoint(speak: (socket: Socket) => void): Promise<Pick<Endpoint, 'url' | 'close'>> {
  const sockets = new Set<Socket>()
  const server = createTcpServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => speak(socket))
  })
  return {
    url: await listening(server),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function listening(server: TcpServer): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
