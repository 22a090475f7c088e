import fc from 'fast-check'
import { expect, it } from 'vitest'
import { apiClient, readSse, UnreachableError } from './client.ts'

async function* chunksOf(text: string, cuts: readonly number[]): AsyncGenerator<string> {
  const places = [0, ...cuts.map(cut => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
  for (const [n, from] of places.entries()) yield text.slice(from, places[n + 1])
}

const read = async (text: string, cuts: readonly number[]) => {
  const messages: unknown[] = []
  for await (const message of readSse(chunksOf(text, cuts))) messages.push(message)
  return messages
}

it('returns the same events wherever the stream is split', async () => {
  const line = fc.oneof(
    fc
      .tuple(fc.constantFrom('id: ', 'data: ', 'data:', 'event: ', ': ', 'retry: ', ''), fc.string({ maxLength: 20 }))
      .map(parts => parts.join('')),
    fc.constant(''),
  )
  const stream = fc.tuple(fc.array(line, { maxLength: 20 }), fc.constantFrom('\n', '\r\n'))
  const property = fc.asyncProperty(stream, fc.array(fc.nat(400), { maxLength: 12 }), async ([lines, end], cuts) => {
    const text = `${lines.join(end)}${end}${end}`
    expect(await read(text, cuts)).toEqual(await read(text, []))
  })
  await fc.assert(property, { numRuns: 1_000 })
})

it('is read as events, or rejected, whatever the stream contains', async () => {
  const json = fc.oneof(
    fc.json({ maxDepth: 2 }),
    fc.constantFrom('null', '[]', '"text"', '{"type":"heartbeat"}', '{"type":7}', '{"__proto__":{"type":"x"}}', '{'),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const field = fc.constantFrom('data: ', 'data:', 'id: ', 'event: ', '\u0000', '\ufeffdata: ', ': ', '')
  const line = fc.tuple(field, json, fc.constantFrom('\n', '\n\n', '\r\n\r\n', '\r')).map(parts => parts.join(''))
  const property = fc.asyncProperty(fc.array(line, { maxLength: 8 }), async lines => {
    const body = chunksOf(lines.join(''), [])
    const client = apiClient(async () => ({ status: 200, headers: {}, body }), { token: 't' })
    try {
      for await (const { event } of client.events({ signal: new AbortController().signal }))
        expect(typeof event.type).toBe('string')
    } catch (error) {
      expect(error).toBeInstanceOf(UnreachableError)
    }
  })
  await fc.assert(property, { numRuns: 1_000 })
})

it('rejects a message that never ends before it fills the memory', async () => {
  let sent = 0
  async function* endless() {
    yield 'data: '
    for (;;) {
      sent += 1
      yield 'x'.repeat(4 * 1024 * 1024)
    }
  }
  await expect(readSse(endless()).next()).rejects.toBeInstanceOf(UnreachableError)
  expect(sent).toBeLessThan(20)
})
