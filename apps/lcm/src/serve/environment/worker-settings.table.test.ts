import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { describe, expect, it } from 'vitest'
import { etcdEndpoints, loopsOf, settingsEnvironment, workerControllerEnvironment } from './environment.ts'

const GIVEN = { LCM_SERVICE_TOKEN: 's3cret', LCM_FLEET: 'prod', AWS_REGIONS_CONFIG_PATH: '/etc/regions.yaml' }

const loops = (more: Readonly<Record<string, string>>) => workerControllerEnvironment({ ...GIVEN, ...more })

describe('the defaults', () => {
  it.each<[string, unknown]>([
    ['ETCD_HOST', 'localhost'],
    ['ETCD_PORT', 2379],
    ['CONTROL_PLANE_API_URL', 'http://localhost:8080'],
    ['LEADER_LEASE_TTL', 15_000],
    ['RECONCILE_INTERVAL', 30_000],
    ['RECONCILE_POLLING_ENABLED', true],
    ['METRICS_COLLECT_INTERVAL', 60_000],
    ['IDLE_DETECTION_INTERVAL', 300_000],
    ['WORKER_DISCOVERY_INTERVAL', 300_000],
    ['WORKER_DISCOVERY_TAG_FILTER', { key: 'cml-managed', value: 'true' }],
    ['WORKER_DISCOVERY_AMI_FILTER', ''],
    ['CML_DEFAULT_USERNAME', 'admin'],
    ['CML_DEFAULT_PASSWORD', ''],
    ['METRICS_WORKER_SERIES_MAX', 500],
  ])('%s is %j', (name, value) => {
    expect(workerControllerEnvironment(GIVEN)).toHaveProperty(name, value)
  })

  it.each([
    ['idle_detection_enabled', true],
    ['idle_timeout_seconds', 3600],
    ['idle_snooze_seconds', 3600],
    ['scale_down_enabled', false],
    ['min_workers', 0],
    ['scale_down_max_share', 0.25],
    ['scale_down_cooldown_seconds', 'off'],
    ['max_workers_per_region', 10],
  ])('%s is %j', (name, value) => {
    expect(SETTING_DEFAULTS).toHaveProperty(name, value)
    expect(settingsEnvironment({})).toEqual({})
  })

  it('discover and import machines', () => {
    expect(loopsOf(loops({})).autoImportEnabled).toBe(true)
  })
})

describe('the environment of a policy', () => {
  it('is in minutes where its name says so', () => {
    expect(settingsEnvironment({ IDLE_TIMEOUT_MINUTES: '30', IDLE_SNOOZE_MINUTES: '0', MIN_WORKERS: '2' })).toEqual({
      idle_timeout_seconds: 1800,
      idle_snooze_seconds: 0,
      min_workers: 2,
    })
    expect(settingsEnvironment({ IDLE_TIMEOUT_MINUTES: '0.5' })).toEqual({ idle_timeout_seconds: 30 })
  })

  it.each(['0.001', '43201', '-1', ' '])('refuses %j minutes: a timeout is never rounded', minutes => {
    expect(() => settingsEnvironment({ IDLE_TIMEOUT_MINUTES: minutes })).toThrow(
      `IDLE_TIMEOUT_MINUTES=${minutes}: minutes from 0 to 43200, in whole seconds`,
    )
  })
})

describe('the environment of a setting that may be a word', () => {
  it.each<[Record<string, string>, object]>([
    [{ SCALE_DOWN_COOLDOWN_SECONDS: '0' }, { scale_down_cooldown_seconds: 0 }],
    [{ SCALE_DOWN_COOLDOWN_SECONDS: 'off' }, { scale_down_cooldown_seconds: 'off' }],
    [{ SCALE_DOWN_MAX_SHARE: '0.5' }, { scale_down_max_share: 0.5 }],
  ])('is read: %j', (given, settings) => {
    expect(settingsEnvironment(given)).toEqual(settings)
  })

  it.each([
    ['SCALE_DOWN_COOLDOWN_SECONDS', 'unlimited', 'a whole number from 0 to 2592000, or off'],
    ['SCALE_DOWN_MAX_SHARE', '25', 'a number from 0 to 1'],
  ])('%s=%s is refused', (name, value, allowed) => {
    expect(() => settingsEnvironment({ [name]: value })).toThrow(`${name}=${value}: ${allowed}`)
  })
})

describe('two names for one setting', () => {
  it.each(['AUTO_IMPORT_ENABLED', 'WORKER_DISCOVERY_ENABLED'])('%s alone switches it off', name => {
    expect(loopsOf(loops({ [name]: 'false' })).autoImportEnabled).toBe(false)
  })

  it('may both be set to the same, and stop the start when they differ', () => {
    const both = (one: string, other: string) => loops({ AUTO_IMPORT_ENABLED: one, WORKER_DISCOVERY_ENABLED: other })
    expect(loopsOf(both('false', 'no')).autoImportEnabled).toBe(false)
    expect(() => both('true', 'false')).toThrow(
      'AUTO_IMPORT_ENABLED=true and WORKER_DISCOVERY_ENABLED=false contradict',
    )
  })

  it('one of many etcd endpoints wins over host and port', () => {
    expect(etcdEndpoints(workerControllerEnvironment({ ...GIVEN, ETCD_HOST: 'x', ETCD_ENDPOINTS: 'a:1' }))).toEqual([
      'a:1',
    ])
  })
})

describe('the discovery filter', () => {
  it('matches by image when no tag is set, and never matches everything', () => {
    const byImage = loops({ WORKER_DISCOVERY_TAG_FILTER: 'none', WORKER_DISCOVERY_AMI_FILTER: 'cml-*' })
    expect(byImage).toMatchObject({ WORKER_DISCOVERY_TAG_FILTER: null, WORKER_DISCOVERY_AMI_FILTER: 'cml-*' })
    for (const ami of [{}, { WORKER_DISCOVERY_AMI_FILTER: '' }])
      expect(() => loops({ WORKER_DISCOVERY_TAG_FILTER: 'none', ...ami })).toThrow('needs WORKER_DISCOVERY_AMI_FILTER')
  })

  it.each(['cml-managed', '=true', 'cml-managed='])("can't be %s", tag => {
    expect(() => loops({ WORKER_DISCOVERY_TAG_FILTER: tag })).toThrow(`WORKER_DISCOVERY_TAG_FILTER=${tag}`)
  })
})
