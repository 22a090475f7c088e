import { expect, it } from 'vitest'
import { textFrom } from './text-file.ts'

async function* parts(...chunks: Buffer[]) {
  yield* chunks
}

it('reads text whose characters are cut in two by the pipe', async () => {
  const [first, second] = [Buffer.from([0xc3]), Buffer.from([0xa9])]
  expect(await textFrom(parts(first, second))).toBe('é')
})

it('refuses of a pipe what it refuses of a file: what is no text, and what is too large to be meant', async () => {
  await expect(textFrom(parts(Buffer.from([0xff, 0xfe])))).rejects.toMatchObject({ code: 'it is not UTF-8 text' })
  const much = Buffer.alloc(9 * 1024 * 1024, 'x')
  await expect(textFrom(parts(much, much))).rejects.toMatchObject({ code: 'it is larger than 16 MB' })
})
