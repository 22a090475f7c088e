import { appendFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiClient, type Client } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it } from 'vitest'
import { serve } from '../one-service.ts'
import { restore } from './restore-data-folder.ts'
import { UNFINISHED } from './restore-marks.ts'

const scratch = () => mkdtempSync(join(tmpdir(), 'lcm-serve-backup-'))
const folder = scratch()
const KEY = 'AB'.repeat(32)
const TOKEN = 'the-first-administrator'
writeFileSync(join(folder, 'regions.yaml'), 'aws_region_configs: { us-east-1: { subnets: [subnet-a] } }')
writeFileSync(join(folder, 'admin'), TOKEN)

/** Serves an API without its etcd until the work is done. */
async function whileServed(store: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const stop = new AbortController()
  let heard = (_: string): unknown => undefined
  const url = new Promise<string>(resolve => {
    heard = line => resolve(/ listens on (\S+)/.exec(line)?.[1] ?? '')
  })
  const env = {
    ETCD_ENDPOINTS: '127.0.0.1:1',
    LCM_LOG_LEVEL: 'silent',
    LCM_STORE: `sqlite:${store}`,
    LCM_SECRET_KEY: KEY,
    LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: join(folder, 'admin'),
    AWS_REGIONS_CONFIG_PATH: join(folder, 'regions.yaml'),
  }
  const options = { service: 'control-plane-api', host: '127.0.0.1', port: 0, env } as const
  const serving = serve(options, { out: line => void heard(line), err: () => undefined, signal: stop.signal })
  try {
    const baseUrl = await Promise.race([url, serving.then(() => '')])
    await work(apiClient(httpTransport({ baseUrl, clock: systemClock }), { token: TOKEN }))
  } finally {
    stop.abort()
    await serving
  }
}

it('backs up a separate API on SQLite with its encryption key, and holds the fleet after a restore', async () => {
  const file = join(folder, 'fleet.backup')
  const body = { name: 'ci', role: 'operator' } as const
  await whileServed(join(folder, 'lcm.sqlite'), async client => {
    await client.call('createToken', { body })
    for await (const chunk of await client.download('createBackup', {})) appendFileSync(file, chunk)
  })
  const to = join(scratch(), 'restored')
  const messages: string[] = []
  await restore({ file, dataDir: to, passphrase: null }, { out: () => undefined, err: line => messages.push(line) })
  expect(messages.join()).toContain('LCM_FLEET')
  expect(readFileSync(join(to, 'secret-key'), 'utf8').trim()).toBe(KEY.toLowerCase())
  expect(readFileSync(join(to, 'cloud'), 'utf8').trim()).toBe('aws')
  expect(existsSync(join(to, 'restored'))).toBe(true)
  await whileServed(join(to, 'lcm.sqlite'), async client => {
    expect(existsSync(join(to, 'restored'))).toBe(false)
    expect((await client.call('listTokens', {})).items).toMatchObject([{ name: 'ci' }])
  })
})

it('refuses to serve after an incomplete restore', async () => {
  const half = scratch()
  writeFileSync(join(half, UNFINISHED), '')
  await expect(whileServed(join(half, 'lcm.sqlite'), async () => undefined)).rejects.toThrow(/is incomplete/)
  expect(existsSync(join(half, 'lcm.sqlite'))).toBe(false)
})
