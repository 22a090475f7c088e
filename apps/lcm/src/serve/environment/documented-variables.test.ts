import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { effectiveSettings } from '@lcm/domain/fleet/settings'
import { describe, expect, it } from 'vitest'
import { type ServedService, serve } from '../one-service.ts'
import { workerControllerConfig } from '../serve-worker-controller.ts'
import { StartupError } from '../startup-error.ts'
import {
  etcdEndpoints,
  resourceSchedulerEnvironment,
  settingsEnvironment,
  workerControllerEnvironment,
} from './environment.ts'

const folder = mkdtempSync(join(tmpdir(), 'lcm-documented-'))
const REGIONS = join(folder, 'regions.yaml')
writeFileSync(REGIONS, 'aws_region_configs: { us-east-1: { region: us-east-1, subnet_id: subnet-xyz789 } }')

/** Required variables that the documents do not mention. */
const NEEDED = { LCM_SERVICE_TOKEN: 'x', LCM_FLEET: 'f', AWS_REGIONS_CONFIG_PATH: REGIONS }

type Variables = Readonly<Record<string, string>>
const environment = (given: Variables) => workerControllerEnvironment({ ...NEEDED, ...given })
const controller = (given: Variables) => workerControllerConfig(environment(given))
const settings = (given: Variables) => effectiveSettings({}, settingsEnvironment(given))
const region = (given: Variables) => resourceSchedulerEnvironment({ ...NEEDED, ...given }).AWS_REGION

interface Documented {
  readonly name: string
  /** Its default, in the words of the document; null where one is made up. */
  readonly says: string | null
  /** The parsed variables. */
  readonly effect: (given: Variables) => unknown
  readonly byDefault: unknown
  /** Another value, and what comes of it. */
  readonly other: readonly [value: string, effect: unknown]
  readonly allowed?: string
  readonly refused?: readonly string[]
}

const SECONDS = 'seconds, more than 0 and at most 86400'
const NO_SECONDS = ['0', '-1', '86401', 'soon', ' ', '1e-3', 'NaN', 'Infinity']
const FLAG = 'true or false'
const NO_FLAG = ['maybe', '2', ' ']

/** "Worker Controller Architecture", section 10. The documents put all of them on the worker-controller. */
const SECTION_10: readonly Documented[] = [
  {
    name: 'ETCD_HOST',
    says: 'localhost',
    effect: given => etcdEndpoints(environment(given)),
    byDefault: ['localhost:2379'],
    other: ['etcd-1', ['etcd-1:2379']],
  },
  {
    name: 'ETCD_PORT',
    says: '2379',
    effect: given => etcdEndpoints(environment(given)),
    byDefault: ['localhost:2379'],
    other: ['4001', ['localhost:4001']],
    allowed: 'a whole number from 1 to 65535',
    refused: ['0', '65536', '2379.5', 'many', ' '],
  },
  {
    name: 'CONTROL_PLANE_API_URL',
    says: 'http://localhost:8080',
    effect: given => environment(given).CONTROL_PLANE_API_URL,
    byDefault: 'http://localhost:8080',
    other: ['https://lcm.example', 'https://lcm.example'],
    allowed: 'an http or https address, such as http://localhost:8080',
    refused: ['localhost:8080', 'nowhere', 'ftp://lcm.example'],
  },
  {
    name: 'WORKER_CONTROLLER_INSTANCE_ID',
    says: null,
    effect: given => environment(given).WORKER_CONTROLLER_INSTANCE_ID,
    byDefault: undefined,
    other: ['worker-ctrl-abc123', 'worker-ctrl-abc123'],
  },
  {
    name: 'LEADER_LEASE_TTL',
    says: '15',
    effect: given => environment(given).LEADER_LEASE_TTL,
    byDefault: 15_000,
    other: ['20', 20_000],
    allowed: 'whole seconds, from 2 to 86400',
    refused: ['1', '2.5', ...NO_SECONDS],
  },
  {
    name: 'RECONCILE_INTERVAL',
    says: '30',
    effect: given => controller(given).reconcileIntervalMs,
    byDefault: 30_000,
    other: ['60', 60_000],
    allowed: SECONDS,
    refused: NO_SECONDS,
  },
  {
    name: 'METRICS_COLLECT_INTERVAL',
    says: '60',
    effect: given => controller(given).metricsIntervalMs,
    byDefault: 60_000,
    other: ['90', 90_000],
    allowed: SECONDS,
    refused: NO_SECONDS,
  },
  {
    name: 'AUTO_IMPORT_ENABLED',
    says: 'true',
    effect: given => controller(given).autoImportEnabled,
    byDefault: true,
    other: ['false', false],
    allowed: FLAG,
    refused: NO_FLAG,
  },
]

/** "Worker Lifecycle & Reconciliation", section 11. RECONCILE_INTERVAL is in both. */
const SECTION_11: readonly Documented[] = [
  {
    name: 'RECONCILE_POLLING_ENABLED',
    says: 'True',
    effect: given => controller(given).pollingEnabled,
    byDefault: true,
    other: ['False', false],
    allowed: FLAG,
    refused: NO_FLAG,
  },
  {
    name: 'IDLE_DETECTION_INTERVAL',
    says: '300',
    effect: given => controller(given).idleCheckIntervalMs,
    byDefault: 300_000,
    other: ['600', 600_000],
    allowed: 'seconds, from 300 to 86400',
    refused: ['60', '299.9', ...NO_SECONDS],
  },
  {
    name: 'CML_DEFAULT_USERNAME',
    says: 'admin',
    effect: given => controller({ CML_DEFAULT_PASSWORD: 'secret', ...given }).cmlDefaults?.username,
    byDefault: 'admin',
    other: ['lcm', 'lcm'],
  },
  {
    name: 'CML_DEFAULT_PASSWORD',
    says: '',
    effect: given => controller(given).cmlDefaults,
    byDefault: null,
    other: ['secret', { username: 'admin', password: 'secret' }],
  },
  {
    name: 'SCALE_DOWN_ENABLED',
    says: 'False',
    effect: given => settings(given).scale_down_enabled,
    byDefault: false,
    other: ['True', true],
    allowed: FLAG,
    refused: NO_FLAG,
  },
  {
    name: 'MIN_WORKERS',
    says: '0',
    effect: given => settings(given).min_workers,
    byDefault: 0,
    other: ['2', 2],
    allowed: 'a whole number from 0 to 10000',
    refused: ['-1', '10001', '1.5', 'two', ' '],
  },
  {
    name: 'SCALE_DOWN_COOLDOWN_SECONDS',
    // The document says 600: scale_down_max_share limits stops until a cooldown is set.
    says: null,
    effect: given => settings(given).scale_down_cooldown_seconds,
    byDefault: 'off',
    other: ['600', 600],
    allowed: 'a whole number from 0 to 2592000, or off',
    refused: ['-1', '2592001', '0.5', 'soon', ' '],
  },
]

/** Settings of "Worker Discovery & Observation", section 6, and the default region of "Worker Lifecycle", section 3. */
const SETTINGS_WITHOUT_A_VARIABLE: readonly Documented[] = [
  {
    name: 'WORKER_DISCOVERY_ENABLED',
    says: 'True',
    effect: given => controller(given).autoImportEnabled,
    byDefault: true,
    other: ['False', false],
    allowed: FLAG,
    refused: NO_FLAG,
  },
  {
    name: 'WORKER_DISCOVERY_INTERVAL',
    says: '300',
    effect: given => controller(given).discoveryIntervalMs,
    byDefault: 300_000,
    other: ['30', 30_000],
    allowed: SECONDS,
    refused: NO_SECONDS,
  },
  {
    name: 'WORKER_DISCOVERY_TAG_FILTER',
    says: 'cml-managed=true',
    effect: given => controller(given).policy.discoveryTag,
    byDefault: { key: 'cml-managed', value: 'true' },
    other: ['cml-environment=production', { key: 'cml-environment', value: 'production' }],
    allowed: 'name=value, such as cml-managed=true, or none',
    refused: ['None', 'cml-managed', ' '],
  },
  {
    name: 'WORKER_DISCOVERY_AMI_FILTER',
    says: '',
    effect: given => controller(given).discoveryAmiFilter,
    byDefault: '',
    other: ['cml-2.*', 'cml-2.*'],
  },
  {
    name: 'AWS_DEFAULT_REGION',
    says: 'us-east-1',
    effect: region,
    byDefault: 'us-east-1',
    other: ['eu-west-1', 'eu-west-1'],
  },
  {
    name: 'AWS_REGION',
    says: 'us-east-1',
    effect: region,
    byDefault: 'us-east-1',
    other: ['eu-west-1', 'eu-west-1'],
  },
]

const ALL = [...SECTION_10, ...SECTION_11, ...SETTINGS_WITHOUT_A_VARIABLE]

describe('a variable of the documents', () => {
  it.each(ALL)('$name has the documented default', ({ name, says, effect, byDefault }) => {
    expect(effect({})).toEqual(byDefault)
    if (says !== null) expect(effect({ [name]: says })).toEqual(byDefault)
  })

  it.each(ALL)('$name takes effect', ({ name, effect, other: [value, expected] }) => {
    expect(effect({ [name]: value })).toEqual(expected)
  })

  it('AWS_REGION wins over AWS_DEFAULT_REGION, as it does for AWS tools', () => {
    expect(region({ AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'us-west-2' })).toBe('eu-west-1')
    expect(region({ AWS_REGION: '', AWS_DEFAULT_REGION: 'us-west-2' })).toBe('us-west-2')
  })

  const refusals = ALL.flatMap(({ name, effect, allowed = '', refused = [] }) =>
    refused.map(value => ({ name, effect, allowed, value })),
  )

  it.each(refusals)('$name=$value is refused and never replaced', ({ name, effect, allowed, value }) => {
    expect(() => effect({ [name]: value })).toThrow(
      expect.objectContaining({
        message: `${name}=${value}: ${allowed}`,
        advice: 'set an allowed value and start again, see docs/reference/config.md',
      }),
    )
  })
})

/** Starts a service with the documented variables on a free port, until it has reported its health once. */
async function started(service: ServedService, env: Variables) {
  const stop = new AbortController()
  const warned: string[] = []
  const io = { err: (line: string) => void warned.push(line), signal: stop.signal }
  let ended: Promise<void> = Promise.resolve()
  const url = new Promise<string>((resolve, reject) => {
    const out = (line: string) => resolve(/ listens on (\S+)/.exec(line)?.[1] ?? '')
    ended = (async () => serve({ service, host: '127.0.0.1', port: 0, env }, { ...io, out }))()
    ended.catch(reject)
  })
  try {
    const health: unknown = await (await fetch(`${await url}/health`)).json()
    return { health, warned }
  } finally {
    stop.abort()
    await ended.catch(() => undefined)
  }
}

describe('the worker-controller with the variables that the documents give it', () => {
  const documented = Object.fromEntries(
    [...SECTION_10, ...SECTION_11].map(({ name, says, other: [value] }) => [name, says ?? value]),
  )
  /** Others may use the documented ports of this machine; nothing listens at these. */
  const AWAY = { ETCD_PORT: '1', CONTROL_PLANE_API_URL: 'http://127.0.0.1:1', LCM_LOG_LEVEL: 'silent' }
  const env = { ...NEEDED, ...documented, ...AWAY }

  it('starts, and names the service that reads the variables which it does not', async () => {
    const { health, warned } = await started('worker-controller', env)
    expect(health).toMatchObject({
      status: expect.stringMatching(/^(healthy|degraded)$/),
      is_leader: false,
      instance_id: 'worker-ctrl-abc123',
      last_reconciliation: null,
      workers_managed: 0,
      workers_with_drift: 0,
      problems: expect.any(Array),
    })
    expect(warned).toEqual([
      'worker-controller does not read MIN_WORKERS, SCALE_DOWN_COOLDOWN_SECONDS, SCALE_DOWN_ENABLED: control-plane-api does. ' +
        'Set them there, or change them at run time in the console under Settings or with PATCH /api/v1/settings',
    ])
  })

  it.each(['worker-controller', 'resource-scheduler', 'lablet-controller'] as const)(
    'refuses to start as %s with a value that the control-plane-api would refuse',
    async service => {
      const refusal = await started(service, { ...env, MIN_WORKERS: '-1' }).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(StartupError)
      expect(refusal).toHaveProperty(
        'message',
        expect.stringMatching(/^MIN_WORKERS=-1: a whole number from 0 to 10000/),
      )
    },
  )
})
