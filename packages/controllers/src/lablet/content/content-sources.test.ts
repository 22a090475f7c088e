import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CloudError } from '@lcm/cloud/errors'
import type { Objects } from '@lcm/cloud/object-storage'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentSources, PACKAGE_BYTES_MAX } from './content-sources.ts'

const never = new AbortController().signal
let clock: ManualClock
let home: string
let asked: string[]
let answers: Record<string, () => Response>
let objects: Objects | null

const answering: typeof fetch = async (input, init) => {
  const url = String(input)
  asked.push(url)
  const answer = answers[url]
  if (answer !== undefined) return answer()
  return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
}
const read = (source: string, signal = never) =>
  contentSources({ clock, folder: join(home, 'labs'), fetch: answering, objects }).read(source, signal)
const redirect = (location: string) => () => new Response(null, { status: 302, headers: { location } })

beforeEach(async () => {
  clock = manualClock()
  asked = []
  answers = {}
  objects = { read: async ({ bucket, key }) => Buffer.from(`${bucket} ${key}`) }
  home = await mkdtemp(join(tmpdir(), 'lcm-content-'))
  await mkdir(join(home, 'labs'))
  await writeFile(join(home, 'labs', 'one.yaml'), 'one')
  await writeFile(join(home, 'secret.yaml'), 'secret')
  await symlink(join(home, 'secret.yaml'), join(home, 'labs', 'link.yaml'))
})
afterEach(() => rm(home, { recursive: true }))

describe('file:', () => {
  it('is read below the configured folder, with either URL form', async () => {
    expect(String(await read('file:one.yaml'))).toBe('one')
    expect(String(await read(pathToFileURL(join(home, 'labs', 'one.yaml')).href))).toBe('one')
  })

  it.each(['file:../secret.yaml', 'file:link.yaml', 'file:nothing.yaml', 'file:///etc/passwd', 'file:.'])(
    '%s is refused because it is not below the folder',
    async source => {
      await expect(read(source)).rejects.toThrow('no such file below the folder')
    },
  )

  it('that is a folder, or too large, is refused', async () => {
    await mkdir(join(home, 'labs', 'more'))
    await expect(read('file:more')).rejects.toThrow('that is not a file')
    await writeFile(join(home, 'labs', 'large.zip'), Buffer.alloc(PACKAGE_BYTES_MAX + 1))
    await expect(read('file:large.zip')).rejects.toThrow('is larger than')
  })

  it('is refused when no folder is configured', async () => {
    const none = contentSources({ clock, folder: null, fetch: answering, objects })
    await expect(none.read('file:one.yaml', never)).rejects.toThrow('no folder is set up')
  })
})

describe('https:', () => {
  it('is fetched, and follows redirects', async () => {
    answers = { 'https://a/x': redirect('/y'), 'https://a/y': () => new Response('two') }
    expect(String(await read('https://a/x'))).toBe('two')
    expect(asked).toEqual(['https://a/x', 'https://a/y'])
  })

  it.each([
    ['redirects to http', redirect('http://b/'), 'not https'],
    ['redirects to a file', redirect('file:///etc/passwd'), 'not https'],
    ['redirects forever', redirect('https://a/x'), 'redirects more than 3 times'],
    ['answers 404', () => new Response('no', { status: 404 }), 'status 404'],
    ['is too large', () => new Response(new Uint8Array(PACKAGE_BYTES_MAX + 1)), 'is larger than'],
  ])('that %s is refused', async (_, answer, message) => {
    answers = { 'https://a/x': answer }
    await expect(read('https://a/x')).rejects.toThrow(message)
  })

  it('that does not answer times out after a minute', async () => {
    const reading = expect(read('https://a/silent')).rejects.toThrow('nothing came within 60 s')
    await clock.advance(60_000)
    await reading
  })

  it('ends when the caller aborts', async () => {
    const caller = new AbortController()
    const reading = expect(read('https://a/silent', caller.signal)).rejects.toThrow('enough')
    caller.abort(new Error('enough'))
    await reading
  })
})

describe('s3:', () => {
  const denied = new CloudError('auth', { code: 'AccessDenied', action: 'GetObject', message: 'Access Denied' })

  it('is read from its bucket', async () => {
    expect(String(await read('s3://labs/2026/bgp.zip'))).toBe('labs 2026/bgp.zip')
  })

  it.each([
    ['s3://labs/secret', 'S3 did not give it out: GetObject: AccessDenied: Access Denied'],
    ['s3://labs', 'the name of a bucket, a slash and a key'],
  ])('%s fails with a message that says why', async (source, message) => {
    objects = { read: async () => Promise.reject(denied) }
    await expect(read(source)).rejects.toThrow(message)
  })

  it('is refused where there is no S3', async () => {
    objects = null
    await expect(read('s3://labs/bgp.zip')).rejects.toThrow('there is no S3 beside the simulated cloud')
  })
})
