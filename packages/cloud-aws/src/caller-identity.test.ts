import { expect, it } from 'vitest'
import { callerIdentity } from './caller-identity.ts'
import { scriptedEndpoint } from './testing/scripted-endpoint.ts'

const NOW_MS = Date.parse('2026-01-01T00:00:00Z')

async function asked(status: number, body: string) {
  const headers = { date: 'Thu, 01 Jan 2026 00:10:00 GMT' }
  const endpoint = await scriptedEndpoint(() => ({ status, body, headers }))
  const caller = await callerIdentity({
    credentials: { accessKeyId: 'AKID', secretAccessKey: 'none' },
    region: 'us-east-1',
    endpoint: endpoint.url,
    nowMs: NOW_MS,
    fetch: globalThis.fetch,
    signal: new AbortController().signal,
  })
  await endpoint.close()
  return { caller, asked: endpoint.bodies[0] }
}

it('returns the caller and the time at AWS', async () => {
  const answer = '<GetCallerIdentityResult><Arn>arn:aws:iam::1:role/lcm</Arn></GetCallerIdentityResult>'
  expect(await asked(200, answer)).toEqual({
    caller: { arn: 'arn:aws:iam::1:role/lcm', refusal: null, atMs: NOW_MS + 600_000 },
    asked: 'Action=GetCallerIdentity&Version=2011-06-15',
  })
})

it('reports rejected credentials', async () => {
  const { caller } = await asked(403, '<Error><Code>InvalidClientTokenId</Code><Message>is invalid</Message></Error>')
  expect(caller).toMatchObject({ arn: null, refusal: { code: 'InvalidClientTokenId', message: 'is invalid' } })
})

it.each([
  ['eu-west-1', 'https://sts.eu-west-1.amazonaws.com/'],
  ['cn-north-1', 'https://sts.cn-north-1.amazonaws.com.cn/'],
])('calls the endpoint of %s at %s', async (region, address) => {
  const urls: string[] = []
  await callerIdentity({
    credentials: { accessKeyId: 'AKID', secretAccessKey: 'none' },
    region,
    endpoint: null,
    nowMs: NOW_MS,
    fetch: async url => {
      urls.push(String(url))
      return new Response('')
    },
    signal: new AbortController().signal,
  })
  expect(urls).toEqual([address])
})
