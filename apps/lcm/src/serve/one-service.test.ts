import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdLock } from './data/lock.ts'
import { type ServeOptions, serve } from './one-service.ts'
import { StartupError } from './startup-error.ts'

const folder = mkdtempSync(join(tmpdir(), 'lcm-serve-'))
const REGIONS = join(folder, 'regions.yaml')
writeFileSync(REGIONS, 'aws_region_configs: { us-east-1: { subnets: [subnet-a] } }')
writeFileSync(join(folder, 'admin'), 'the first administrator'.replaceAll(' ', '-'))
writeFileSync(join(folder, 'short'), 'fifteen-letters')
/** An unused port: an unreachable etcd must not prevent the start of a service. */
const NO_ETCD = { ETCD_ENDPOINTS: '127.0.0.1:1', LCM_LOG_LEVEL: 'silent' }
const API = {
  ...NO_ETCD,
  LCM_STORE: `sqlite:${join(folder, 'lcm.sqlite')}`,
  LCM_SECRET_KEY: 'ab'.repeat(32),
  LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: join(folder, 'admin'),
  AWS_REGIONS_CONFIG_PATH: REGIONS,
}
const CONTROLLER = {
  ...NO_ETCD,
  CONTROL_PLANE_API_URL: 'http://127.0.0.1:1',
  LCM_SERVICE_TOKEN: 'x',
  LCM_FLEET: 'f',
  AWS_REGIONS_CONFIG_PATH: REGIONS,
}

const options = (service: ServeOptions['service'], env: ServeOptions['env']): ServeOptions => ({
  service,
  host: '127.0.0.1',
  port: 0,
  env,
})

/** Serves until its health was read once. */
async function healthOf(service: ServeOptions['service'], env: ServeOptions['env']): Promise<unknown> {
  const stop = new AbortController()
  let heard = (_: string) => undefined as unknown
  const url = new Promise<string>(resolve => {
    heard = line => resolve(/ listens on (\S+)/.exec(line)?.[1] ?? '')
  })
  const serving = serve(options(service, env), {
    out: line => void heard(line),
    err: () => undefined,
    signal: stop.signal,
  })
  const health = await Promise.race([url.then(async at => (await fetch(`${at}/health`)).json()), serving])
  stop.abort()
  await serving
  return health
}

describe('a service without its etcd', () => {
  it('keeps serving the API, and reports what is wrong', async () => {
    expect(await healthOf('control-plane-api', API)).toMatchObject({
      status: expect.stringMatching(/healthy|degraded/),
    })
  })

  it('waits and never leads', async () => {
    expect(await healthOf('worker-controller', CONTROLLER)).toMatchObject({ is_leader: false })
  })
})

describe('a start that is refused', () => {
  const refusal = async (given: ServeOptions): Promise<string> => {
    const io = { out: () => undefined, err: () => undefined, signal: AbortSignal.abort() }
    const error = await (async () => serve(given, io))().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StartupError)
    return error instanceof StartupError ? `${error.message}: ${error.advice}` : ''
  }

  it('names what is missing', async () => {
    const message = await refusal(options('control-plane-api', NO_ETCD))
    for (const name of ['LCM_STORE', 'LCM_SECRET_KEY', 'LCM_BOOTSTRAP_ADMIN_TOKEN_FILE'])
      expect(message).toContain(`${name} must be set`)
  })

  it('names all errors at once, including those of the settings', async () => {
    const wrong = { LCM_STORE: 'postgres:x', ETCD_PORT: 'many', MIN_WORKERS: '-1', LEADER_LEASE_TTL: 'soon' }
    const message = await refusal(options('control-plane-api', { ...API, ...wrong }))
    for (const name of Object.keys(wrong)) expect(message).toContain(name)
    expect(message.match(/see docs/g)).toHaveLength(1)
  })

  it.each([
    [{ ETCD_ENDPOINTS: 'http://etcd:2379/v3' }, /^ETCD_ENDPOINTS: "http:.*host:port/],
    [{ ETCD_CERT_FILE: '/c.pem', ETCD_KEY_FILE: '/k.pem' }, /^ETCD_CERT_FILE and ETCD_KEY_FILE need ETCD_CA_FILE: /],
    [{ ETCD_CA_FILE: '/ca.pem', ETCD_KEY_FILE: '/k.pem' }, /^ETCD_CERT_FILE and ETCD_KEY_FILE need each other: /],
    [{ ETCD_PASSWORD: 'x' }, /^ETCD_PASSWORD needs ETCD_USERNAME: /],
  ])('refuses variables that would be silently ignored: %o', async (wrong, sentence) => {
    for (const service of ['control-plane-api', 'worker-controller'] as const)
      expect(
        await refusal(options(service, { ...(service === 'worker-controller' ? CONTROLLER : API), ...wrong })),
      ).toMatch(sentence)
  })

  it('warns about an unknown variable', async () => {
    const warned: string[] = []
    const env = { ...API, LCM_STROE: 'x', LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: '/nowhere' }
    const io = { out: () => undefined, err: (line: string) => void warned.push(line), signal: AbortSignal.abort() }
    await (async () => serve(options('control-plane-api', env), io))().catch(() => undefined)
    expect(warned).toEqual(['LCM_STROE is set, but unknown. Did you mean LCM_STORE?'])
  })

  it('names a missing file', async () => {
    expect(
      await refusal(options('control-plane-api', { ...API, LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: '/nowhere' })),
    ).toContain('/nowhere')
    expect(
      await refusal(options('worker-controller', { ...CONTROLLER, AWS_REGIONS_CONFIG_PATH: '/nowhere' })),
    ).toContain('/nowhere')
  })

  it('names a region that no worker could be given', async () => {
    expect(await refusal(options('control-plane-api', { ...API, AWS_REGION: 'eu-west-1' }))).toMatch(
      /AWS_REGION=eu-west-1 .*us-east-1/,
    )
  })

  it('refuses a token that can be guessed', async () => {
    const env = { ...API, LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: join(folder, 'short') }
    expect(await refusal(options('control-plane-api', env))).toMatch(
      /short must contain 16 to 512 printable characters/,
    )
  })

  it.each(['control-plane-api', 'resource-scheduler', 'lablet-controller', 'worker-controller'] as const)(
    'names a port that is taken and an address that is not here: %s',
    async service => {
      const env = service === 'control-plane-api' ? API : CONTROLLER
      const taken = createServer()
      const port = await new Promise<number>(resolve => {
        taken.listen(0, '127.0.0.1', () => resolve(Object(taken.address()).port))
      })
      expect(await refusal({ ...options(service, env), port })).toMatch(`port ${port} is in use`)
      await new Promise(resolve => taken.close(resolve))
      const host = '203.0.113.1'
      expect(await refusal({ ...options(service, env), host })).toMatch(`this computer has no address ${host}`)
    },
  )

  it('names a missing folder', async () => {
    const env = { ...API, LCM_STORE: `sqlite:${join(folder, 'none', 'lcm.sqlite')}` }
    expect(await refusal(options('control-plane-api', env))).toMatch(
      /LCM_STORE: folder .*none does not exist: create it first/,
    )
  })

  it('refuses a store that another process uses', async () => {
    const release = holdLock(`${join(folder, 'lcm.sqlite')}.lock`, 'the store')
    expect(await refusal(options('control-plane-api', API))).toMatch(/another LCM is already using .*lcm\.sqlite/)
    release()
  })
})
