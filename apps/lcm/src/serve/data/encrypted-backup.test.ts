import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { StartupError } from '../startup-error.ts'
import { decryptBackup, encryptBackup, isEncrypted } from './encrypted-backup.ts'

const PASSPHRASE = 'correct horse battery staple'
const scratch = (name: string) => join(mkdtempSync(join(tmpdir(), 'lcm-encrypted-')), name)

async function* pieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 50_000) yield content.subarray(at, at + 50_000)
}

async function encrypted(content: Buffer): Promise<string> {
  const file = scratch('fleet.backup')
  for await (const chunk of encryptBackup(pieces(content), PASSPHRASE, 10)) await appendFile(file, chunk)
  return file
}

async function decrypted(file: string, passphrase = PASSPHRASE): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of decryptBackup(file, passphrase)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Of four chunks, the last of which is full. */
const CONTENT = Buffer.alloc(4 * 64 * 1024, 'the secret key of this fleet. ')
let file = ''
beforeAll(async () => {
  file = await encrypted(CONTENT)
})

describe('an encrypted backup', () => {
  it('opens with its passphrase, and shows nothing without', async () => {
    expect((await decrypted(file)).equals(CONTENT)).toBe(true)
    expect(readFileSync(file).includes('secret key')).toBe(false)
    expect([await isEncrypted(file), await isEncrypted(scratch('nothing'))]).toEqual([true, false])
  })

  it.each([0, 1, 64 * 1024 + 1])('may have %i bytes', async bytes => {
    const content = Buffer.alloc(bytes, 'x')
    expect((await decrypted(await encrypted(content))).equals(content)).toBe(true)
  })

  it('refuses a wrong passphrase', async () => {
    const refusal = await decrypted(file, 'wrong horse battery staple').catch(error => error)
    expect(refusal).toBeInstanceOf(StartupError)
    expect(refusal.message).toContain('this passphrase does not open')
  })

  const CHUNK = 64 * 1024 + 16
  const HEADER = 'lcm encrypted backup 1\n'.length + 1 + 16 + 16 + 7
  const changes: readonly [string, (bytes: Buffer) => Buffer][] = [
    ['a flipped bit', bytes => flipped(bytes, HEADER + CHUNK + 5)],
    ['a flipped bit in the nonce', bytes => flipped(bytes, HEADER - 1)],
    ['a missing end', bytes => bytes.subarray(0, -1)],
    ['a missing last chunk', bytes => bytes.subarray(0, HEADER + 3 * CHUNK)],
    ['an excessive cost', bytes => flipped(bytes, HEADER - 40, 0x80)],
    ['no chunk', bytes => bytes.subarray(0, HEADER)],
    ['half a header', bytes => bytes.subarray(0, HEADER - 3)],
    ['something appended', bytes => Buffer.concat([bytes, Buffer.from('x')])],
    [
      'two chunks that changed places',
      bytes =>
        Buffer.concat([
          bytes.subarray(0, HEADER),
          bytes.subarray(HEADER + CHUNK, HEADER + 2 * CHUNK),
          bytes.subarray(HEADER, HEADER + CHUNK),
          bytes.subarray(HEADER + 2 * CHUNK),
        ]),
    ],
  ]
  it.each(changes)('is refused with %s', async (_, change) => {
    const other = scratch('other')
    writeFileSync(other, change(readFileSync(file)))
    await expect(decrypted(other)).rejects.toThrow(/is damaged or truncated/)
  })
})

function flipped(bytes: Buffer, at: number, bit = 1): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ bit
  return copy
}
