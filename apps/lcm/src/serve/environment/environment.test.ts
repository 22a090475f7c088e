import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  apiEnvironment,
  bootstrapToken,
  etcdEndpoints,
  oidcOf,
  upEnvironment,
  workerControllerEnvironment,
} from './environment.ts'
import { type Env, openSecretFiles, readNamedFile } from './read-environment.ts'

const API = {
  LCM_STORE: 'sqlite:/data/lcm.sqlite',
  LCM_SECRET_KEY: 'ab'.repeat(32),
  LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: '/run/admin',
  AWS_REGIONS_CONFIG_PATH: '/etc/regions.yaml',
}
const CONTROLLER = { LCM_SERVICE_TOKEN: 's3cret', LCM_FLEET: 'prod', AWS_REGIONS_CONFIG_PATH: '/etc/regions.yaml' }

describe('the environment of a service', () => {
  it('has the documented defaults', () => {
    expect(workerControllerEnvironment(CONTROLLER)).toMatchObject({
      CONTROL_PLANE_API_URL: 'http://localhost:8080',
      LEADER_LEASE_TTL: 15_000,
      RECONCILE_INTERVAL: 30_000,
      RECONCILE_POLLING_ENABLED: true,
      READY_PROBE_INTERVAL: 10_000,
    })
    expect(apiEnvironment(API)).toMatchObject({
      LCM_STORE: 'sqlite:/data/lcm.sqlite',
      LCM_CLOUD: 'aws',
      ETCD_PORT: 2379,
    })
  })

  it('reads the etcd address from host and port or from a list of endpoints', () => {
    expect(etcdEndpoints(apiEnvironment(API))).toEqual(['localhost:2379'])
    expect(etcdEndpoints(apiEnvironment({ ...API, ETCD_HOST: 'etcd', ETCD_PORT: '4001' }))).toEqual(['etcd:4001'])
    expect(etcdEndpoints(apiEnvironment({ ...API, ETCD_HOST: 'x', ETCD_ENDPOINTS: 'a:1, b:2,' }))).toEqual([
      'a:1',
      'b:2',
    ])
  })

  it('accepts additional host names for the API', () => {
    expect(apiEnvironment(API).LCM_PUBLIC_HOSTS).toEqual([])
    expect(apiEnvironment({ ...API, LCM_PUBLIC_HOSTS: 'api, lcm.example' }).LCM_PUBLIC_HOSTS).toEqual([
      'api',
      'lcm.example',
    ])
  })

  const OIDC = {
    LCM_OIDC_ISSUER: 'https://id.example/realm',
    LCM_OIDC_AUDIENCE: 'lcm-api',
    LCM_OIDC_CLIENT_ID: 'lcm-console',
  }

  it('configures login through OIDC', () => {
    expect(oidcOf(apiEnvironment(API))).toBeNull()
    const env = apiEnvironment({ ...API, ...OIDC, LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: undefined })
    expect(bootstrapToken(env)).toBeNull()
    expect(oidcOf(env)).toEqual({
      issuer: 'https://id.example/realm',
      audience: 'lcm-api',
      clientId: 'lcm-console',
      roleClaim: 'roles',
      scopes: 'openid profile email',
    })
    const claim = { LCM_OIDC_ROLE_CLAIM: 'realm_access.roles' }
    expect(oidcOf(apiEnvironment({ ...API, ...OIDC, ...claim }))).toMatchObject({ roleClaim: 'realm_access.roles' })
  })

  it('reads the public address and who may read the metrics', () => {
    expect(apiEnvironment(API).LCM_PUBLIC_URL).toBeUndefined()
    expect(apiEnvironment({ ...API, LCM_PUBLIC_URL: 'https://lcm.example/' }).LCM_PUBLIC_URL).toBe(
      'https://lcm.example',
    )
    expect(apiEnvironment(API).LCM_TRUSTED_PROXIES).toEqual([])
    const proxies = { LCM_TRUSTED_PROXIES: '10.0.0.0/8, fd00::1' }
    expect(apiEnvironment({ ...API, ...proxies }).LCM_TRUSTED_PROXIES).toEqual(['10.0.0.0/8', 'fd00::1'])
    expect(apiEnvironment(API).LCM_METRICS_PUBLIC).toBe(false)
    expect(apiEnvironment({ ...API, LCM_METRICS_PUBLIC: 'true' }).LCM_METRICS_PUBLIC).toBe(true)
  })

  it.each([
    [{ LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: undefined }, 'LCM_BOOTSTRAP_ADMIN_TOKEN_FILE must be set, or LCM_OIDC_ISSUER'],
    [{ ...OIDC, LCM_OIDC_AUDIENCE: undefined }, 'LCM_OIDC_AUDIENCE must be set'],
    [{ ...OIDC, LCM_OIDC_CLIENT_ID: '' }, 'LCM_OIDC_CLIENT_ID must be set'],
    [{ ...OIDC, LCM_TLS_CERT_FILE: 'a', LCM_TLS_KEY_FILE: 'b' }, 'LCM_PUBLIC_URL must be set'],
    [{ ...OIDC, LCM_OIDC_ISSUER: 'http://id.example' }, 'LCM_OIDC_ISSUER=http://id.example: an https address'],
    [{ ...OIDC, LCM_OIDC_ISSUER: 'http://localhost.example' }, 'an https address'],
    [{ LCM_OIDC_SCOPES: 'offline_access' }, 'LCM_OIDC_SCOPES=offline_access: `openid` and further scopes'],
    [{ LCM_TRUSTED_PROXIES: '10.0.0.0/8, proxy' }, 'LCM_TRUSTED_PROXIES=10.0.0.0/8, proxy: addresses or CIDR ranges'],
    [{ LCM_PUBLIC_URL: 'lcm.example' }, 'LCM_PUBLIC_URL=lcm.example'],
    [{ LCM_PUBLIC_URL: 'https://lcm.example/console' }, 'an address without a path'],
    [{ LCM_METRICS_PUBLIC: 'perhaps' }, 'LCM_METRICS_PUBLIC=perhaps'],
  ])('stops the start of an API without a login or with an unsafe one: %j', (wrong, sentence) => {
    expect(() => apiEnvironment({ ...API, ...wrong })).toThrow(sentence)
  })

  it('treats an empty variable as unset', () => {
    expect(workerControllerEnvironment({ ...CONTROLLER, RECONCILE_INTERVAL: '' }).RECONCILE_INTERVAL).toBe(30_000)
  })

  it.each([
    [{ LCM_FLEET: undefined }, 'LCM_FLEET must be set'],
    [{ LCM_FLEET: 'a b' }, 'LCM_FLEET=a b: letters, digits'],
    [{ LEADER_LEASE_TTL: 'soon' }, 'LEADER_LEASE_TTL=soon'],
    [{ RECONCILE_INTERVAL: '-1' }, 'RECONCILE_INTERVAL=-1'],
    [{ RECONCILE_POLLING_ENABLED: 'maybe' }, 'RECONCILE_POLLING_ENABLED=maybe'],
    [{ CONTROL_PLANE_API_URL: 'nowhere' }, 'CONTROL_PLANE_API_URL=nowhere'],
    [{ CONTROL_PLANE_API_URL: 'localhost:8080' }, 'CONTROL_PLANE_API_URL=localhost:8080'],
    [{ LCM_COORDINATION: 'zookeeper' }, 'LCM_COORDINATION=zookeeper'],
  ])('stops the start with the name and the value: %j', (wrong, sentence) => {
    expect(() => workerControllerEnvironment({ ...CONTROLLER, ...wrong })).toThrow(sentence)
  })

  it('never shows a secret', () => {
    expect(() => apiEnvironment({ ...API, LCM_SECRET_KEY: 'tooshort' })).toThrow(/LCM_SECRET_KEY=\(hidden\)/)
    expect(() => apiEnvironment({ ...API, LCM_SECRET_KEY: 'tooshort' })).not.toThrow(/tooshort/)
  })
})

describe('a secret from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-secrets-'))
  const written = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const SECRETS = {
    'control-plane-api': { LCM_STORE: 'mongodb://u:p@db/lcm', LCM_SECRET_KEY: 'cd'.repeat(32), ETCD_PASSWORD: 'pw' },
    'worker-controller': { LCM_SERVICE_TOKEN: 'a token', CML_DEFAULT_PASSWORD: ' spaces count ' },
    up: { LCM_WEBHOOK_URL: 'https://hooks.example/in?key=secret' },
  } as const
  const read: Readonly<Record<keyof typeof SECRETS, (env: Env) => object>> = {
    'control-plane-api': env =>
      apiEnvironment({ ...API, ETCD_USERNAME: 'lcm', LCM_STORE: '', LCM_SECRET_KEY: '', ...env }),
    'worker-controller': env => workerControllerEnvironment({ ...CONTROLLER, LCM_SERVICE_TOKEN: '', ...env }),
    up: upEnvironment,
  }
  const ROWS = Object.entries(SECRETS).flatMap(([service, secrets]) =>
    Object.entries(secrets).map(([name, value]) => ({ service, name, value, others: secrets })),
  )
  const reading = (service: string) => Object.entries(read).find(([name]) => name === service)?.[1] ?? upEnvironment

  it.each(ROWS)(
    '$name has the value in $name_FILE, without the last line break',
    ({ service, name, value, others }) => {
      for (const end of ['', '\n', '\r\n']) {
        const env = { ...others, [name]: undefined, [`${name}_FILE`]: written(name, `${value}${end}`) }
        expect(Object(reading(service)(env))[name]).toBe(value)
      }
    },
  )

  it.each(ROWS)('$name is refused beside $name_FILE', ({ service, name, value, others }) => {
    const env = { ...others, [name]: value, [`${name}_FILE`]: written(name, value) }
    expect(() => reading(service)(env)).toThrow(
      `${name}_FILE=${join(folder, name)}: ${name} is set too; set only one of them`,
    )
  })

  it('is refused if the file is missing, empty or not allowed, and never shown', () => {
    const withKey = (path: string) => () => apiEnvironment({ ...API, LCM_SECRET_KEY: '', LCM_SECRET_KEY_FILE: path })
    expect(withKey('/nowhere')).toThrow(/^LCM_SECRET_KEY_FILE=\/nowhere: the file can't be read \(ENOENT\)$/)
    expect(withKey(written('empty', '\n'))).toThrow(/empty: the file is empty$/)
    expect(withKey(written('short', 'tooshort'))).toThrow(/^LCM_SECRET_KEY_FILE=.*short: 64 hexadecimal digits/)
    expect(withKey(written('short', 'tooshort'))).not.toThrow(/tooshort/)
  })

  it('causes a warning if every user of the machine may read the file', () => {
    const path = written('open', 'x')
    const env = { LCM_SERVICE_TOKEN_FILE: path, LCM_TLS_KEY_FILE: path, LCM_CONTENT_FOLDER: folder }
    expect(openSecretFiles(env)).toEqual([])
    chmodSync(path, 0o644)
    expect(openSecretFiles(env)).toEqual([
      `LCM_SERVICE_TOKEN_FILE=${path} can be read by every user of this machine. Run: chmod 600 ${path}`,
      `LCM_TLS_KEY_FILE=${path} can be read by every user of this machine. Run: chmod 600 ${path}`,
    ])
    expect(openSecretFiles({ LCM_SERVICE_TOKEN_FILE: '/nowhere' })).toEqual([])
  })
})

it('reads the file that a variable names', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-env-')), 'token')
  writeFileSync(path, 'abc\n')
  expect(readNamedFile('TOKEN_FILE', path)).toBe('abc')
  expect(() => readNamedFile('TOKEN_FILE', `${path}x`)).toThrow(/TOKEN_FILE=.* can't be read/)
})
