import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promMeter } from '@lcm/controllers/kit/metrics'
import { SERVED } from '@lcm/lcm/serve/one-service'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const root = fileURLToPath(new URL('..', import.meta.url))
const text = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const yaml = (path: string): unknown => parse(text(path), { merge: true })
const all = (from: string, pattern: RegExp): string[] => [...from.matchAll(pattern)].map(([, found = '']) => found)

const SERVICES = Object.keys(SERVED)
const VERSION = z.object({ version: z.string() }).parse(JSON.parse(text('package.json'))).version

describe('queries', () => {
  const Panel = z.object({ targets: z.array(z.object({ expr: z.string() })).default([]) })
  const Dashboard = z.object({ panels: z.array(Panel) })
  const Rules = z.object({ groups: z.array(z.object({ rules: z.array(z.object({ expr: z.string() })) })) })

  /** PromQL keywords that can stand in place of a metric. */
  const WORDS = new Set(['by', 'without', 'or', 'and', 'unless', 'on', 'ignoring', 'group_left', 'group_right', 'bool'])

  /** Every metric that a query names. Strings, labels, ranges and functions are put away first. */
  const metricsIn = (expr: string): string[] =>
    all(
      expr
        .replace(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
        .replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
        .replace(/[a-z_]+\s*\(/g, '('),
      /([a-zA-Z_:][\w:]*)/g,
    ).filter(name => !WORDS.has(name))

  /** The names on the reference page, which a test compares with what a running LCM measures, and those of every process. */
  async function known(): Promise<Set<string>> {
    const page = text('docs/reference/metrics.md')
    const [, list = ''] = /^`LOOP` is one of ([^.]*)\.$/m.exec(page) ?? []
    const loops = all(list, /`(\w+)`/g)
    const rows = all(page, /^\| `(\w+)` \|/gm)
    const named = rows.flatMap(name =>
      name.startsWith('LOOP') ? loops.map(loop => name.replace('LOOP', loop)) : [name],
    )
    const ofProcess = all(await promMeter().text(), /^# TYPE (\S+)/gm)
    return new Set(['up', ...ofProcess, ...named.flatMap(name => [name, ...(isTime(name) ? [`${name}_bucket`] : [])])])
  }
  const isTime = (name: string) => name.endsWith('_seconds') && !name.endsWith('_age_seconds')

  it('are parsed into their metrics', () => {
    const expr =
      'histogram_quantile(0.95, sum by (le, a) (rate(x_seconds_bucket{b="c"}[5m]))) > 4 or absent(y) or vector(0)'
    expect(metricsIn(expr)).toEqual(['x_seconds_bucket', 'y'])
  })

  it('of the dashboard use only existing metrics', async () => {
    const { panels } = Dashboard.parse(JSON.parse(text('deploy/grafana/dashboard.json')))
    const names = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)))
    const measured = await known()
    expect(names.length).toBeGreaterThan(50)
    expect(names.filter(name => !measured.has(name))).toEqual([])
  })

  it('of the alerts each have series that fire them', () => {
    const Alerts = z.object({ groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string() })) })) })
    const Fired = z.object({ alertname: z.string(), exp_alerts: z.array(z.object({ exp_labels: z.object() })) })
    const Cases = z.object({ tests: z.array(z.object({ alert_rule_test: z.array(Fired) })) })
    const alerts = Alerts.parse(yaml('deploy/prometheus/alerts.yaml')).groups.flatMap(({ rules }) => rules)
    const cases = Cases.parse(yaml('tools/interop/alert-cases.yaml')).tests.flatMap(test => test.alert_rule_test)
    const fired = cases.filter(({ exp_alerts }) => exp_alerts.length > 0).map(({ alertname }) => alertname)
    const quiet = cases.filter(({ exp_alerts }) => exp_alerts.length === 0).map(({ alertname }) => alertname)
    const names = alerts.map(({ alert }) => alert).toSorted()
    expect([fired.toSorted(), quiet.toSorted()]).toEqual([names, names])
  })

  it('of the alerts use only existing metrics', async () => {
    const { groups } = Rules.parse(yaml('deploy/prometheus/alerts.yaml'))
    const names = groups.flatMap(({ rules }) => rules.flatMap(({ expr }) => metricsIn(expr)))
    const measured = await known()
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter(name => !measured.has(name))).toEqual([])
  })
})

/** Every variable on the reference page, and what the AWS SDK and Node.js read for themselves. */
const VARIABLES = new Set([
  ...all(text('docs/reference/config.md'), /^\| `([A-Z][A-Z0-9_]+)` \|/gm),
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_EC2_METADATA_DISABLED'],
  'NODE_EXTRA_CA_CERTS',
])
const unknown = (names: readonly string[]) => names.filter(name => !VARIABLES.has(name))

describe('the compose file', () => {
  const Service = z.object({
    image: z.string(),
    command: z.array(z.string()).default([]),
    entrypoint: z.array(z.string()).default([]),
    environment: z.record(z.string(), z.string()).default({}),
    cap_drop: z.array(z.string()).default([]),
    cap_add: z.array(z.string()).default([]),
    security_opt: z.array(z.string()).default([]),
    secrets: z.array(z.string()).default([]),
    volumes: z.array(z.string()).default([]),
    ports: z.array(z.string()).default([]),
    deploy: z.object({ replicas: z.int() }).optional(),
    profiles: z.array(z.string()).default([]),
  })
  const { services } = z.object({ services: z.record(z.string(), Service) }).parse(yaml('deploy/compose.yaml'))
  const ours = Object.entries(services).filter(([, { image }]) => image.startsWith('lcm:'))
  const serving = (service: string) => ours.filter(([, { command }]) => command.includes(service))

  it('runs this version, and every service twice, on AWS and on the simulated cloud', () => {
    for (const [, { image }] of ours) expect(image).toBe(`lcm:${VERSION}`)
    for (const service of SERVICES)
      for (const profile of ['aws', 'sim']) {
        const present = serving(service).filter(
          ([, { profiles }]) => profiles.length === 0 || profiles.includes(profile),
        )
        const replicas = present.map(([, { deploy }]) => deploy?.replicas ?? 1)
        expect(
          replicas.reduce((sum, each) => sum + each, 0),
          `${service} on ${profile}`,
        ).toBe(2)
      }
  })

  it('sets only variables that LCM reads', () => {
    expect(ours.flatMap(([, { environment }]) => unknown(Object.keys(environment)))).toEqual([])
    const exported = ours.flatMap(([, { entrypoint }]) => all(entrypoint.join('\n'), /\b((?:LCM|ETCD)_[A-Z_]+)=/g))
    expect(exported).toContain('LCM_SERVICE_TOKEN_FILE')
    expect(unknown(exported)).toEqual([])
  })

  it('scrapes every replica at its port, by a host name that the API accepts', () => {
    const Targets = z.array(z.object({ targets: z.array(z.string()), labels: z.object({ service: z.string() }) }))
    const hosts = services['control-plane-api']?.environment.LCM_PUBLIC_HOSTS?.split(',')
    for (const profile of ['aws', 'sim']) {
      const groups = Targets.parse(yaml(`deploy/prometheus/targets-${profile}.yaml`))
      expect(groups.map(({ labels }) => labels.service)).toEqual(SERVICES)
      for (const { targets, labels } of groups) {
        const { service } = labels
        const withReplicas = serving(service).find(([name]) => name === service && profileHas(name, profile))
        expect(targets.toSorted(), `${service} on ${profile}`).toEqual(
          withReplicas === undefined
            ? simulatedPorts(service).map(port => `sim:${port}`)
            : [1, 2].map(replica => `lcm-${service}-${replica}:${portOf(service)}`),
        )
      }
      const api = groups.find(({ labels }) => labels.service === 'control-plane-api')?.targets ?? []
      expect(hosts).toEqual(expect.arrayContaining(api.map(target => target.replace(/:\d+$/, ''))))
    }
  })

  const SECRET = /(PASSWORD|TOKEN|KEY|STORE)$/

  it('lets LCM speak TLS only, with secrets from files', () => {
    const ofServices = ours.filter(([, { environment }]) => environment.LCM_LOG_LEVEL !== undefined)
    expect(ofServices).toHaveLength(8)
    for (const [name, { environment, volumes }] of ofServices) {
      expect(environment, name).toMatchObject({
        LCM_TLS_CERT_FILE: '/tls/lcm.crt',
        LCM_TLS_KEY_FILE: '/tls/lcm.key',
        ETCD_CA_FILE: '/tls/ca.crt',
        ETCD_USERNAME: 'lcm',
        ETCD_PASSWORD_FILE: '/run/secrets/etcd-password',
      })
      expect(volumes, name).toContain('tls:/tls:ro')
      if (name !== 'control-plane-api')
        expect(environment, name).toMatchObject({
          CONTROL_PLANE_API_URL: 'https://control-plane-api:8080',
          LCM_CA_FILE: '/tls/ca.crt',
        })
    }
    for (const [name, { environment, secrets }] of ours) {
      const open = Object.keys(environment).filter(each => SECRET.test(each) && !/^(AWS|CML)_/.test(each))
      expect(open, name).toEqual([])
      for (const path of Object.values(environment).filter(value => value.startsWith('/run/secrets/')))
        expect(secrets, name).toContain(path.replace('/run/secrets/', ''))
    }
    expect(yaml('deploy/prometheus/prometheus.yaml')).toMatchObject({
      scrape_configs: [{ job_name: 'lcm', scheme: 'https', tls_config: { ca_file: '/tls/ca.crt' } }],
    })
  })

  it('takes all capabilities but those with a reason from every container', () => {
    const kept = Object.entries(services).flatMap(([name, { cap_drop, cap_add, security_opt }]) => {
      expect(cap_drop, name).toEqual(['ALL'])
      expect(security_opt, name).toEqual(['no-new-privileges:true'])
      return cap_add.map(capability => `${name}: ${capability}`)
    })
    expect(kept.toSorted()).toEqual(['certificates: CHOWN', 'gateway: NET_BIND_SERVICE'])
  })

  it('publishes Prometheus on loopback alone, and every other port there by default', () => {
    const published = Object.entries(services).flatMap(([name, { ports }]) => ports.map(port => `${name} ${port}`))
    const byDefault = published.map(port => port.replace(/\$\{LCM_BIND:-(.+)\}/, '$1 by default'))
    expect(byDefault).toEqual([
      'gateway 127.0.0.1 by default:8080:8080',
      'prometheus 127.0.0.1:9090:9090',
      'grafana 127.0.0.1 by default:3000:3000',
    ])
  })

  it('gives LCM its own users of etcd and MongoDB, not root', () => {
    expect(services.etcd?.command.join(' ')).toMatch(/--listen-client-urls=https:.*--cert-file=.*--key-file=/)
    expect(services.mongo?.environment).toMatchObject({ MONGO_INITDB_ROOT_USERNAME: 'root' })
    expect(text('deploy/compose.yaml')).toContain(
      "createUser({ user: 'lcm', pwd, roles: [{ role: 'readWrite', db: 'lcm' }] })",
    )
    expect(text('docs/how-to/deploy.md')).toMatch(/^echo "mongodb:\/\/lcm:.+@mongo:27017\/lcm" > secrets\/store$/m)
    for (const [name, { secrets }] of ours.filter(([name]) => name !== 'etcd-users'))
      expect(
        secrets.filter(secret => secret.includes('root')),
        name,
      ).toEqual([])
  })

  it('lets each image of others be pinned by its digest', () => {
    const others = Object.values(services).filter(({ image }) => !image.startsWith('lcm:'))
    expect(others.length).toBeGreaterThan(5)
    for (const { image } of others) expect(image).toMatch(/^[\w./-]+:[\w.-]+\$\{[A-Z]+_DIGEST:-\}$/)
  })

  it('mounts the secrets that the guide makes, from files: Compose has no others for a read-only container', () => {
    const Secrets = z.record(z.string(), z.strictObject({ file: z.string() }))
    const { secrets } = z.object({ secrets: Secrets }).parse(yaml('deploy/compose.yaml'))
    const [, made = ''] = /for name in ([a-z -]+); do/.exec(text('docs/how-to/deploy.md')) ?? []
    expect(Object.keys(secrets).toSorted()).toEqual([...made.split(' '), 'store'].toSorted())
    for (const [name, { file }] of Object.entries(secrets)) expect(file).toBe(`./secrets/${name}`)
  })

  const profileHas = (name: string, profile: string): boolean => {
    const profiles = services[name]?.profiles ?? []
    return profiles.length === 0 || profiles.includes(profile)
  }
  /** They share one network, so each needs its own port. */
  const simulatedPorts = (service: string): string[] =>
    serving(service)
      .filter(([, { profiles }]) => profiles.includes('sim'))
      .map(([, { command }]) => (command.includes('--port') ? (command.at(-1) ?? '') : String(portOf(service))))
      .sort()
})

const portOf = (service: string): number => Object.entries(SERVED).find(([name]) => name === service)?.[1] ?? 0

describe('the image', () => {
  it('exposes the ports of all services, and has a health check', () => {
    const dockerfile = text('Dockerfile')
    const ports = Object.values(SERVED)
    expect(/^EXPOSE (.+)$/m.exec(dockerfile)?.[1]).toBe(ports.join(' '))
    expect(dockerfile).toContain(`[${ports.join(', ')}]`)
    expect(unknown(all(dockerfile, /\b(LCM_[A-Z_]+)=/g))).toEqual([])
  })
})

it('gives every service the stop timeout of the guide', () => {
  const [, seconds = ''] = /Give them (\d+) seconds before SIGKILL/.exec(text('docs/how-to/run-a-cluster.md')) ?? []
  const given = [
    ...all(text('deploy/compose.yaml'), /^x-service: &service\n(?: .*\n)*? {2}stop_grace_period: (\d+)s$/gm),
    ...all(text('deploy/helm/lcm/values.yaml'), /^terminationGracePeriodSeconds: (\d+)$/gm),
    ...all(text('deploy/systemd/lcm.service'), /^TimeoutStopSec=(\d+)$/gm),
    ...all(text('deploy/systemd/lcm@.service'), /^TimeoutStopSec=(\d+)$/gm),
  ]
  expect(given).toEqual([seconds, seconds, seconds, seconds])
})

describe('the systemd units', () => {
  const units = readdirSync(`${root}deploy/systemd`).map(name => text(`deploy/systemd/${name}`))

  it('set only variables that LCM reads, and run existing commands', () => {
    const set = units.flatMap(unit =>
      all(unit, /^Environment=(.+)$/gm).flatMap(line => all(line, /([A-Z][A-Z0-9_]+)=/g)),
    )
    expect(set).toContain('LCM_DATA')
    expect(unknown(set)).toEqual([])
    expect(units.flatMap(unit => all(unit, /^ExecStart=(.+)$/gm))).toEqual(['lcm up', 'lcm serve %i'])
  })

  it('write no memory dumps, and serve separate services with TLS and secrets from files', () => {
    for (const unit of units) expect(unit).toMatch(/^LimitCORE=0$/m)
    const [unit = ''] = units.filter(each => each.includes('lcm serve'))
    const files = all(unit, /(?<==)%d\/file_(\S+)/g)
    expect(files.toSorted()).toEqual(
      ['admin-token', 'store', 'secret-key', 'token', 'tls.crt', 'tls.key', 'ca.crt'].toSorted(),
    )
    for (const name of files) expect(unit.split('[Unit]')[0]).toContain(name)
  })
})

describe('the Helm chart', () => {
  const Values = z.object({ services: z.record(z.string(), z.object({ port: z.int(), replicas: z.int() })) })

  it('has this version, and runs every service twice at its port', () => {
    expect(yaml('deploy/helm/lcm/Chart.yaml')).toMatchObject({ version: VERSION, appVersion: VERSION })
    const { services } = Values.parse(yaml('deploy/helm/lcm/values.yaml'))
    const wanted = Object.entries(SERVED).map(([name, port]) => [name, expect.objectContaining({ port, replicas: 2 })])
    expect(services).toEqual(Object.fromEntries(wanted))
  })

  it('disables service links: a Service named etcd would set ETCD_PORT to tcp://…', () => {
    expect(text('deploy/helm/lcm/templates/deployments.yaml')).toMatch(/^ {6}enableServiceLinks: false$/m)
  })

  it('sets only variables that LCM reads', () => {
    const set = all(text('deploy/helm/lcm/templates/_env.yaml'), /\bname"? ?:? ?"?([A-Z][A-Z0-9_]+)/g)
    expect(set).toEqual(
      expect.arrayContaining(['LCM_STORE_FILE', 'LCM_SERVICE_TOKEN_FILE', 'LCM_FLEET', 'ETCD_PASSWORD_FILE']),
    )
    expect(unknown(set.filter(name => name !== 'POD_IP'))).toEqual([])
  })

  const template = (name: string) => text(`deploy/helm/lcm/templates/${name}`)
  const Chart = z.object({
    tls: z.object({ secretName: z.string() }),
    image: z.object({ digest: z.string() }),
    networkPolicy: z.object({ enabled: z.boolean(), egress: z.record(z.string(), z.unknown()) }),
  })

  it('uses TLS between services and isolates them by default', () => {
    const values = Chart.parse(yaml('deploy/helm/lcm/values.yaml'))
    expect(values.tls.secretName).not.toBe('')
    expect(values.networkPolicy.enabled).toBe(true)
    expect(Object.keys(values.networkPolicy.egress)).toEqual(['etcd', 'store', 'web', 'other'])
    expect(template('network-policies.yaml')).toContain('policyTypes: [Ingress, Egress]')
    expect(template('deployments.yaml').match(/scheme: \{\{ \$scheme \}\}/g)).toHaveLength(3)
    for (const each of ['_env.yaml', 'deployments.yaml', 'monitoring.yaml', 'NOTES.txt'])
      expect(template(each), each).not.toMatch(/http:\/\//)
  })

  it('mounts each secret that a variable names as a file', () => {
    const env = template('_env.yaml')
    const keys = all(env, /\/etc\/lcm\/secret\/([a-z-]+)/g)
    expect(keys.toSorted()).toEqual(['admin-token', 'etcd-password', 'secret-key', 'store'])
    const [, helper = ''] = template('_names.yaml').split('"lcm.secretKeys"')
    for (const key of keys) expect(helper).toContain(`"${key}"`)
    expect(all(env, /secretKeyRef: \{[^}]*\}\}, key: ([a-z-]+)/g)).toEqual(['cml-password'])
  })
})
