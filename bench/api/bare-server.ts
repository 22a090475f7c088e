import { createServer } from 'node:http'
import type { Server } from 'node:net'

/** A server that only sends as many bytes as requested, `/api/v1/BYTES`: the cost of Node and the machine. */
const known = new Map<string, Buffer>()

function bytesFor(url: string): Buffer {
  const bytes = known.get(url) ?? Buffer.alloc(Number(url.split('/').at(-1)), 'x')
  known.set(url, bytes)
  return bytes
}

const server = createServer((request, response) => {
  const bytes = bytesFor(request.url ?? '')
  response.writeHead(200, { 'content-length': bytes.length })
  response.end(bytes)
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: portOf(server) }))
process.on('message', () => process.send?.({ cpuMs: (process.cpuUsage().user + process.cpuUsage().system) / 1000 }))
process.once('SIGTERM', () => process.exit())
process.once('disconnect', () => process.exit())

function portOf(from: Server): number {
  const address = from.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
