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

  it('of the alerts use only existing metrics', async () => {
    const { groups } = Rules.parse(yaml('deploy/prometheus/alerts.yaml'))
    const names = groups.flatMap(({ rules }) => rules.flatMap(({ expr }) => metricsIn(expr)))
    const measured = await known()
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter(name => !measured.has(name))).toEqual([])
  })
})

/** Every variable on the reference page, and what the AWS SDK reads for itself. */
const VARIABLES = new Set([
  ...all(text('docs/reference/config.md'), /^\| `([A-Z][A-Z0-9_]+)` \|/gm),
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_EC2_METADATA_DISABLED'],
])
const unknown = (names: readonly string[]) => names.filter(name => !VARIABLES.has(name))

describe('the compose file', () => {
  const Service = z.object({
    image: z.string(),
    command: z.array(z.string()).default([]),
    entrypoint: z.array(z.string()).default([]),
    environment: z.record(z.string(), z.string()).default({}),
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
    expect(exported).toContain('LCM_SERVICE_TOKEN')
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
    expect(set).toEqual(expect.arrayContaining(['LCM_STORE', 'LCM_SERVICE_TOKEN', 'LCM_FLEET', 'ETCD_PASSWORD']))
    expect(unknown(set.filter(name => name !== 'POD_IP'))).toEqual([])
  })
})
