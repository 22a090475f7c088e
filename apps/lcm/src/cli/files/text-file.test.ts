import { expect, it } from 'vitest'
import { textFrom } from './text-file.ts'

async function* parts(...chunks: Buffer[]) {
  yield* chunks
}

it('reads characters that the pipe splits in two', async () => {
  const [first, second] = [Buffer.from([0xc3]), Buffer.from([0xa9])]
  expect(await textFrom(parts(first, second))).toBe('é')
})

it('refuses piped input that is not text or too large, like a file', async () => {
  await expect(textFrom(parts(Buffer.from([0xff, 0xfe])))).rejects.toMatchObject({ code: 'it is not UTF-8 text' })
  const much = Buffer.alloc(9 * 1024 * 1024, 'x')
  await expect(textFrom(parts(much, much))).rejects.toMatchObject({ code: 'it is larger than 16 MB' })
})
