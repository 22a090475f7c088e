import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Clock } from '@lcm/runtime/clock'

/** One request of a controller and its response. Times are of one monotonic clock. */
export interface Exchange {
  readonly instance: string
  readonly method: string
  readonly path: string
  readonly epoch: number | null
  /** Whether it carries the epoch of a leader. */
  readonly isFenced: boolean
  readonly body: string
  readonly beganAt: number
  readonly status: number
  readonly endedAt: number
}

/** A proxy between a controller and the API that records all requests. */
export async function recordingProxy(options: {
  instance: string
  target: string
  clock: Clock
  record: (exchange: Exchange) => void
}): Promise<{ url: string; close(): void }> {
  const server = createServer((incoming, outgoing) => void pass(incoming, outgoing, options))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

type Options = Parameters<typeof recordingProxy>[0]

async function pass(incoming: IncomingMessage, outgoing: ServerResponse, options: Options): Promise<void> {
  const beganAt = options.clock.monotonic()
  const { method = 'GET', url = '/', headers } = incoming
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const target = new URL(url, options.target)
  const forwarded = request(target, { method, headers: { ...headers, host: target.host } }, answer => {
    const epoch = /** Registrations of terms have it in their body. */ epochOf(headers['lcm-epoch'], body.toString())
    options.record({
      instance: options.instance,
      method,
      path: target.pathname,
      epoch,
      isFenced: headers['lcm-epoch'] !== undefined,
      body: body.toString(),
      beganAt,
      status: answer.statusCode ?? 0,
      endedAt: options.clock.monotonic(),
    })
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  })
  forwarded.on('error', () => outgoing.destroy())
  forwarded.end(body)
}

function epochOf(header: string | string[] | undefined, body: string): number | null {
  if (typeof header === 'string') return Number(header)
  const match = /"epoch":(\d+)/.exec(body)
  return match ? Number(match[1]) : null
}
