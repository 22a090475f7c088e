import { connect, type Socket } from 'node:net'
import { TOKEN } from './server-processes.ts'

export interface Answer {
  readonly status: number
  /** Kept on request only. */
  readonly body: string
}

/** A minimal HTTP client that is not the bottleneck: keep-alive, one request at a time, no parsing. */
export interface Connection {
  send(request: Buffer, keepBody?: boolean): Promise<Answer>
  close(): void
}

export function requestText(method: string, path: string, body?: object, token = TOKEN): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const about = body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${text.length}\r\n`
  const head = `${method} /api/v1/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n${about}\r\n`
  return Buffer.from(head + text)
}

const HEAD_END = '\r\n\r\n'
const READ_BYTES = 256 * 1024

interface Pending {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
  readonly keepBody: boolean
  head: string
  status: number
  missing: number
  kept: string
}

export async function openConnection(port: number): Promise<Connection> {
  let pending: Pending | null = null

  function take(bytes: number, buffer: Uint8Array): boolean {
    if (pending !== null && receive(pending, Buffer.from(buffer.buffer, buffer.byteOffset, bytes))) {
      const { resolve, status, kept } = pending
      pending = null
      resolve({ status, body: kept })
    }
    return true
  }

  const onread = { buffer: new Uint8Array(READ_BYTES), callback: take }
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  socket.on('error', error => pending?.reject(error))
  socket.on('close', () => pending?.reject(closed()))
  return {
    send: (request, keepBody = false) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) reject(closed())
        pending = { resolve, reject, keepBody, head: '', status: 0, missing: -1, kept: '' }
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}

const closed = () => new Error('the server closed the connection')

/** Whether the response is complete. */
function receive(pending: Pending, chunk: Buffer): boolean {
  let body = chunk
  if (pending.missing < 0) {
    pending.head += chunk.toString('latin1')
    const end = pending.head.indexOf(HEAD_END)
    if (end < 0) return false
    const bodyBytes = pending.head.length - end - HEAD_END.length
    body = chunk.subarray(chunk.length - bodyBytes)
    pending.status = Number(pending.head.slice(9, 12))
    pending.missing = Number(/content-length: (\d+)/i.exec(pending.head.slice(0, end))?.[1] ?? 0)
  }
  pending.missing -= body.length
  if (pending.keepBody) pending.kept += body.toString('latin1')
  return pending.missing <= 0
}
