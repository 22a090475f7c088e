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
let hosts: readonly string[] | null
let buckets: readonly string[] | null

const answering: typeof fetch = async (input, init) => {
  const url = String(input)
  asked.push(url)
  const answer = answers[url]
  if (answer !== undefined) return answer()
  return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
}
const read = (source: string, signal = never) =>
  contentSources({ clock, folder: join(home, 'labs'), fetch: answering, hosts, objects, buckets }).read(source, signal)
const redirect = (location: string) => () => new Response(null, { status: 302, headers: { location } })

beforeEach(async () => {
  clock = manualClock()
  asked = []
  answers = {}
  hosts = null
  buckets = null
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
    const none = contentSources({ clock, folder: null, fetch: answering, hosts, objects, buckets })
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

  it.each([
    ['ADDRESS_REFUSED', 'the address of its host is not public'],
    ['ENOTFOUND', 'its host was not found'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its host does not show a certificate that LCM trusts'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its host does not show a certificate that LCM trusts'],
    ['EPROTO', 'its host does not show a certificate that LCM trusts'],
    ['ECONNREFUSED', 'the connection to its host failed'],
    ['UND_ERR_CONNECT_TIMEOUT', 'the connection to its host failed'],
  ])('that fails with %s says only: %s', async (code, message) => {
    const cause = Object.assign(new Error('ssl3_get_record:wrong version number at 127.0.0.1:22'), { code })
    answers = {
      'https://a/x?sig=secret': () => {
        throw new TypeError('fetch failed', { cause })
      },
    }
    const error = await read('https://a/x?sig=secret').catch((failure: Error) => failure)
    expect(error).toMatchObject({ message: expect.stringContaining(message) })
    expect(String(error)).not.toMatch(/127\.0|wrong version|secret/)
  })

  it('is fetched only from the allowed hosts, after redirects too', async () => {
    hosts = ['*.labs.example', 'a:8443']
    answers = {
      'https://a:8443/x': redirect('https://b.labs.example/x'),
      'https://b.labs.example/x': redirect('https://elsewhere/x'),
      'https://b.labs.example/y': () => new Response('three'),
    }
    expect(String(await read('https://b.labs.example/y'))).toBe('three')
    await expect(read('https://a:8443/x')).rejects.toThrow('host elsewhere is not one of those that an operator allows')
    await expect(read('https://a/x')).rejects.toThrow('host a is not one of those')
    expect(asked).not.toContain('https://elsewhere/x')
  })

  it.each(['https://', 'https://[::1', 'https:// x'])('%j is no address', async source => {
    await expect(read(source)).rejects.toThrow('that is not an address')
  })

  it('that redirects to no address is refused', async () => {
    answers = { 'https://a/x': redirect('https://[') }
    await expect(read('https://a/x')).rejects.toThrow('it redirects to something that is no address')
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
    ['s3://labs/secret', /^S3 did not give it out: GetObject: AccessDenied$/],
    ['s3://labs', 'the name of a bucket, a slash and a key'],
  ])('%s fails with a message that says why', async (source, message) => {
    objects = { read: async () => Promise.reject(denied) }
    await expect(read(source)).rejects.toThrow(message)
  })

  it('is read only from the allowed buckets', async () => {
    buckets = ['labs']
    expect(String(await read('s3://labs/bgp.zip'))).toBe('labs bgp.zip')
    await expect(read('s3://payroll/bgp.zip')).rejects.toThrow('bucket payroll is not one of those that an operator')
  })

  it('is refused where there is no S3', async () => {
    objects = null
    await expect(read('s3://labs/bgp.zip')).rejects.toThrow('there is no S3 beside the simulated cloud')
  })
})
