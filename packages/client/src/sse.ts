import type { SseMessage } from '@lcm/contract/events'
import { UnreachableError } from './api-error.ts'

/** Several times the largest event. What is longer never ends, and must not fill the memory. */
const MESSAGE_CHARS_MAX = 32 * 1024 * 1024

/** Reads server-sent events from chunks that may be cut anywhere. Comments and unknown fields are passed over. */
export async function* readSse(chunks: AsyncIterable<string>): AsyncGenerator<SseMessage> {
  let buffer = ''
  for await (const chunk of chunks) {
    buffer += chunk
    const blocks = buffer.split(/\r?\n\r?\n/)
    buffer = blocks.pop() ?? ''
    if (buffer.length > MESSAGE_CHARS_MAX) throw new UnreachableError('a message of the event stream never ends')
    for (const block of blocks) {
      const message = parseBlock(block)
      if (message) yield message
    }
  }
}

function parseBlock(block: string): SseMessage | null {
  let id: string | null = null
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('id:')) id = line.slice(3).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  return data.length > 0 ? { id, data: data.join('\n') } : null
}
