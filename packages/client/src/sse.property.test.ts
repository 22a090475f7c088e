import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readSse } from './sse.ts'

async function* chunksOf(text: string, cuts: readonly number[]): AsyncGenerator<string> {
  const places = [0, ...cuts.map(cut => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
  for (const [n, from] of places.entries()) yield text.slice(from, places[n + 1])
}

const read = async (text: string, cuts: readonly number[]) => {
  const messages: unknown[] = []
  for await (const message of readSse(chunksOf(text, cuts))) messages.push(message)
  return messages
}

it('says the same wherever the stream was cut', async () => {
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
