import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CloudError } from '@lcm/cloud/errors'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { s3Address } from './address.ts'
import { s3Objects } from './object-storage.ts'

const never = new AbortController().signal
const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' }
const clock = manualClock(Date.UTC(2026, 0, 2, 3, 4, 5))

let server: Server
let asked: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[]
let answer: (response: ServerResponse, call: number) => void

beforeEach(async () => {
  asked = []
  answer = response => response.end('a package')
  server = createServer(({ method, url, headers }, response) => {
    asked.push({ method, url, headers })
    answer(response, asked.length)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => new Promise(resolve => server.close(resolve)))

const port = () => (server.address() as AddressInfo).port
const objects = () =>
  s3Objects({ clock, region: 'eu-west-1', endpoint: `http://127.0.0.1:${port()}`, credentials: CREDENTIALS, fetch })
const read = (key = '2026/bgp basics (1).zip', signal = never) => objects().read({ bucket: 'labs', key }, 100, signal)
const failure = (reading: Promise<unknown>): Promise<CloudError> =>
  reading.then(
    () => expect.fail('it was read'),
    error => error,
  )

it('sends a signed GET of the path, and returns the whole object', async () => {
  expect(String(await read())).toBe('a package')
  const [request] = asked
  expect([request?.method, request?.url]).toEqual(['GET', '/labs/2026/bgp%20basics%20%281%29.zip'])
  expect(request?.headers).toMatchObject({
    'x-amz-date': '20260102T030405Z',
    'x-amz-security-token': 'session',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  })
  const [scope, signed, signature] = (request?.headers.authorization ?? '').split(', ')
  expect(scope).toBe('AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/s3/aws4_request')
  expect(signed).toBe('SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token')
  expect(signature).toMatch(/^Signature=[0-9a-f]{64}$/)
})

it('retries once in the actual region of the bucket', async () => {
  answer = (response, call) =>
    call === 1 ? response.writeHead(301, { 'x-amz-bucket-region': 'us-west-2' }).end() : response.end('there')
  expect(String(await read())).toBe('there')
  expect(asked[1]?.headers.authorization).toContain('/us-west-2/s3/')
})

const refusing = (status: number, code: string) => (response: ServerResponse) =>
  response.writeHead(status).end(`<Error><Code>${code}</Code><Message>so it is</Message></Error>`)

describe('a rejected request', () => {
  it.each([
    [403, 'AccessDenied', 'auth'],
    [404, 'NoSuchKey', 'not_found'],
    [404, 'NoSuchBucket', 'not_found'],
    [503, 'SlowDown', 'throttled'],
    [500, 'InternalError', 'transient'],
  ])('%i %s is %s', async (status, code, errorClass) => {
    answer = refusing(status, code)
    const error = await failure(read())
    expect([error.errorClass, error.message]).toEqual([errorClass, `GetObject: ${code}: so it is`])
  })

  it('is classified by its status, for an error page of any length', async () => {
    answer = response => response.writeHead(502).end('x'.repeat(30_000))
    expect(await failure(read())).toMatchObject({ errorClass: 'transient', code: 'HTTP502' })
  })

  it('does not follow redirects', async () => {
    answer = response => response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    expect((await failure(read())).message).toContain('HTTP302')
    expect(asked).toHaveLength(1)
  })

  it('fails for an object that is too large', async () => {
    answer = response => response.end('x'.repeat(101))
    expect(await failure(read())).toMatchObject({
      errorClass: 'invalid',
      message: expect.stringContaining('larger than 100 bytes'),
    })
  })
})

it('ends when its caller aborts', async () => {
  const caller = new AbortController()
  answer = () => caller.abort(new Error('enough'))
  await expect(read('x', caller.signal)).rejects.toThrow('enough')
  server.closeAllConnections()
})

it('uses virtual-hosted style at AWS, and path style if no certificate would match', () => {
  const at = (bucket: string, region: string) => {
    const { origin, path } = s3Address({ bucket, key: 'a/b c' }, region)
    return origin + path
  }
  expect(at('labs', 'eu-west-1')).toBe('https://labs.s3.eu-west-1.amazonaws.com/a/b%20c')
  expect(at('my.labs', 'eu-west-1')).toBe('https://s3.eu-west-1.amazonaws.com/my.labs/a/b%20c')
  expect(at('labs', 'cn-north-1')).toBe('https://labs.s3.cn-north-1.amazonaws.com.cn/a/b%20c')
})
