import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type EventEnvelope, writeSse } from '@lcm/contract/events'

/** Proxy between browser and product that can cut the event stream. */
export interface EventProxy {
  readonly url: string
  /** Cuts all event streams and blocks new ones until `openEvents`. Other requests pass. */
  cutEvents(): void
  openEvents(): void
  /** Adds an event to every open stream. */
  inject(event: EventEnvelope): void
  close(): Promise<void>
}

export async function eventProxyTo(productUrl: string): Promise<EventProxy> {
  const target = new URL(productUrl)
  const streams = new Set<ServerResponse>()
  let isCut = false
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const isStream = incoming.url?.startsWith('/api/v1/events') === true
    if (isStream && isCut) return void outgoing.destroy()
    if (isStream) streams.add(outgoing)
    const { method, url: path, headers } = incoming
    const onward = request({ host: target.hostname, port: target.port, method, path, headers }, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => {
      streams.delete(outgoing)
      onward.destroy()
    })
    incoming.pipe(onward)
  }
  const server = createServer(pass).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    cutEvents() {
      isCut = true
      for (const stream of streams) stream.destroy()
    },
    openEvents() {
      isCut = false
    },
    inject(event) {
      for (const stream of streams) stream.write(writeSse({ id: null, data: JSON.stringify(event) }))
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
