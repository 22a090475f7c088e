import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { apiEnvironment, upEnvironment } from '../environment/environment.ts'
import { webhookOf } from './webhook-setting.ts'

const API = {
  LCM_STORE: 'sqlite:/data/lcm.sqlite',
  LCM_SECRET_KEY: 'ab'.repeat(32),
  LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: '/run/admin',
  AWS_REGIONS_CONFIG_PATH: '/etc/regions.yaml',
}

describe('the webhook', () => {
  const URL = 'https://mona:secret@hooks.example/in?key=secret'
  const tokenFile = (content: string): string => {
    const path = join(mkdtempSync(join(tmpdir(), 'lcm-env-')), 'token')
    writeFileSync(path, content)
    return path
  }
  const given = (env: Record<string, string>) => webhookOf(upEnvironment(env), '/lcm/prod')

  it('is off unless it is configured', () => {
    expect(given({})).toEqual({})
    expect(webhookOf(apiEnvironment(API), '/lcm')).toEqual({})
    expect(given({ LCM_WEBHOOK_URL: URL })).toMatchObject({ webhook: { url: URL, token: null, source: '/lcm/prod' } })
    const env = { LCM_WEBHOOK_URL: URL, LCM_WEBHOOK_TOKEN_FILE: tokenFile('abc\n') }
    expect(webhookOf(apiEnvironment({ ...API, ...env }), '/lcm')).toMatchObject({ webhook: { token: 'abc' } })
  })

  it('never shows what is wrong with its secrets', () => {
    const wrong = { LCM_WEBHOOK_URL: URL.replace('https', 'ftp') }
    expect(() => given(wrong)).toThrow(/LCM_WEBHOOK_URL=\(hidden\)/)
    const blank = { LCM_WEBHOOK_URL: URL, LCM_WEBHOOK_TOKEN_FILE: tokenFile('two words') }
    expect(() => given(blank)).toThrow(/LCM_WEBHOOK_TOKEN_FILE=.*without spaces/)
    for (const env of [wrong, blank]) expect(() => given(env)).not.toThrow(/secret|two words/)
  })

  it('reaches a receiver in the private network only if an operator lists its host', async () => {
    let requests = 0
    const server = createServer((_, response) => {
      requests += 1
      response.end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = `http://localhost:${(server.address() as AddressInfo).port}/hook`
    const post = (env: Record<string, string>) => given({ LCM_WEBHOOK_URL: url, ...env }).webhook?.fetch(url)
    await expect(post({})).rejects.toMatchObject({ cause: { code: 'ADDRESS_REFUSED' } })
    expect(requests).toBe(0)
    expect((await post({ LCM_OUTBOUND_PRIVATE_HOSTS: 'hooks.example,localhost' }))?.status).toBe(200)
    expect(requests).toBe(1)
    server.close()
    server.closeAllConnections()
  })
})
