import type { OidcConfig } from '@lcm/control-plane/access/identity-provider'
import { LOG_LEVELS } from '@lcm/controllers/kit/pino-logger'
import { GivenSettings } from '@lcm/domain/fleet/settings'
import { PersonEmail } from '@lcm/domain/person'
import { z } from 'zod'
import { StartupError } from '../startup-error.ts'
import { type Env, read, readNamedFile, variablesOf } from './read-environment.ts'
import {
  flag,
  hosts,
  issuer,
  proxies,
  publicUrl,
  seconds,
  secondsFrom,
  secretKeys,
  setting,
  smtpUrl,
  url,
  whole,
  wholeSecondsFrom,
  word,
  words,
} from './variable-parsers.ts'

const file = word.optional()
const REGION = {
  AWS_REGION: word.default('us-east-1'),
  /** Alias of AWS_REGION, as in the AWS command line. */
  AWS_DEFAULT_REGION: word.optional(),
}

/** The certificate of the port that people and other services connect to. */
const TLS = { LCM_TLS_CERT_FILE: file, LCM_TLS_KEY_FILE: file }
export type TlsEnvironment = z.infer<z.ZodObject<typeof TLS>>

/** Variables of all services, with their defaults. */
const SHARED = {
  LCM_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  LCM_COORDINATION: z.enum(['etcd']).default('etcd'),
  ETCD_HOST: word.default('localhost'),
  ETCD_PORT: whole(1, 65_535).default(2379),
  ETCD_ENDPOINTS: words.optional(),
  ETCD_USERNAME: word.optional(),
  ETCD_PASSWORD: z.string().optional(),
  ETCD_CA_FILE: file,
  ETCD_CERT_FILE: file,
  ETCD_KEY_FILE: file,
  /** etcd leases are whole seconds, at least 2. */
  LEADER_LEASE_TTL: wholeSecondsFrom(2, 15),
  LCM_LIVENESS_HOST: word.default('127.0.0.1'),
  LCM_METRICS_PUBLIC: flag.default(false),
  ...TLS,
}

const MINUTES = { name: 'minutes', size: 60 }

/** Settings that `GET /settings` shows as coming from the environment. All of them can be changed at run time. */
const SETTINGS = z.object({
  IDLE_DETECTION_ENABLED: setting('idle_detection_enabled'),
  IDLE_TIMEOUT_MINUTES: setting('idle_timeout_seconds', MINUTES),
  IDLE_SNOOZE_MINUTES: setting('idle_snooze_seconds', MINUTES),
  IDLE_ACTION: setting('idle_action'),
  IDLE_RUNNING_NODES: setting('idle_running_nodes'),
  SCALE_DOWN_ENABLED: setting('scale_down_enabled'),
  MIN_WORKERS: setting('min_workers'),
  SCALE_DOWN_MAX_SHARE: setting('scale_down_max_share'),
  TERMINATE_SLEEPING: setting('terminate_sleeping'),
  SCALE_DOWN_COOLDOWN_SECONDS: setting('scale_down_cooldown_seconds'),
  SCALE_UP_ENABLED: setting('scale_up_enabled'),
  SCALE_UP_COOLDOWN_SECONDS: setting('scale_up_cooldown_seconds'),
  MAX_WORKERS_PER_REGION: setting('max_workers_per_region'),
  BUDGET_USD_PER_DAY: setting('budget_usd_per_day'),
  BUDGET_USD_PER_MONTH: setting('budget_usd_per_month'),
  EXTERNAL_STOP: setting('external_stop'),
  ORPHAN_ACTION: setting('orphan_action'),
  AUTO_APPROVE: setting('auto_approve'),
  LICENSE_ON_TERMINATE: setting('license_on_terminate'),
  LICENSE_ON_STOP: setting('license_on_stop'),
  BOOT_LEAD_MINUTES: setting('boot_lead_minutes'),
  SCHEDULE_AHEAD_MINUTES: setting('schedule_ahead_minutes'),
  JOURNAL_RETENTION_DAYS: setting('journal_retention_days'),
  TERMINATED_RETENTION_DAYS: setting('terminated_retention_days'),
})
/** Settings whose name differs from that of their variable. */
const SETTING_NAMES: Readonly<Record<string, string>> = {
  IDLE_TIMEOUT_MINUTES: 'idle_timeout_seconds',
  IDLE_SNOOZE_MINUTES: 'idle_snooze_seconds',
}

export function settingsEnvironment(env: Env): GivenSettings {
  const given = Object.entries(read(SETTINGS, env)).filter(([, value]) => value !== undefined)
  return GivenSettings.parse(
    Object.fromEntries(given.map(([name, value]) => [SETTING_NAMES[name] ?? name.toLowerCase(), value])),
  )
}

/** Where changes and notifications are sent. */
const WEBHOOK = {
  LCM_WEBHOOK_URL: url.optional(),
  LCM_WEBHOOK_TOKEN_FILE: file,
  LCM_SMTP_URL: smtpUrl.optional(),
  LCM_SMTP_FROM: PersonEmail.optional(),
}

/** Hosts outside LCM that may have addresses that are not public. */
const OUTBOUND = { LCM_OUTBOUND_PRIVATE_HOSTS: hosts.default([]) }

const API = z.object({
  ...SHARED,
  ...WEBHOOK,
  ...OUTBOUND,
  LCM_STORE: z.string().regex(/^(sqlite:.+|mongodb(\+srv)?:\/\/.+)/, 'sqlite:PATH or mongodb://HOST/DATABASE'),
  LCM_SECRET_KEY: secretKeys,
  LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: file,
  LCM_OIDC_ISSUER: issuer.optional(),
  LCM_OIDC_AUDIENCE: word.optional(),
  LCM_OIDC_CLIENT_ID: word.optional(),
  LCM_OIDC_ROLE_CLAIM: word.default('roles'),
  LCM_OIDC_SCOPES: z
    .string()
    .regex(/^openid( [\x21-\x7e]+)*$/, '`openid` and further scopes, separated by spaces')
    .default('openid profile email'),
  LCM_PUBLIC_URL: publicUrl.optional(),
  LCM_PUBLIC_HOSTS: words.default([]),
  LCM_TRUSTED_PROXIES: proxies.default([]),
  LCM_CLOUD: z.enum(['sim', 'aws']).default('aws'),
  LCM_STOP_DELAY: secondsFrom(0, 0, 300),
  AWS_REGIONS_CONFIG_PATH: word,
  ...REGION,
})
export type ApiEnvironment = z.infer<typeof API>

const tagFilter = z
  .string()
  .regex(/^none$|^[^=]+=.+$/, 'name=value, such as cml-managed=true, or none')
  .transform(text => {
    const [key = '', ...value] = text.split('=')
    return text === 'none' ? null : { key, value: value.join('=') }
  })

/** Variables of the worker-controller loops, in both profiles. */
const LOOPS = {
  RECONCILE_INTERVAL: seconds(30),
  RECONCILE_POLLING_ENABLED: flag.default(true),
  METRICS_COLLECT_INTERVAL: seconds(60),
  /** At least 300 s, because CML always returns its complete telemetry. */
  IDLE_DETECTION_INTERVAL: secondsFrom(300, 300),
  AUTO_IMPORT_ENABLED: flag.optional(),
  WORKER_DISCOVERY_ENABLED: flag.optional(),
  WORKER_DISCOVERY_INTERVAL: seconds(300),
  WORKER_DISCOVERY_TAG_FILTER: tagFilter.default({ key: 'cml-managed', value: 'true' }),
  WORKER_DISCOVERY_AMI_FILTER: z.string().max(128).default(''),
  CML_ADDRESS: z.enum(['public', 'private']).default('public'),
  METRICS_WORKER_SERIES_MAX: whole(0, 100_000).default(500),
  CML_DEFAULT_USERNAME: word.default('admin'),
  CML_DEFAULT_PASSWORD: z.string().default(''),
}
/** Variables of the resource-scheduler loops, in both profiles. */
const CLEANUP = { CLEANUP_INTERVAL: seconds(3600), CLEANUP_DRY_RUN: flag.default(false) }
/** Variables of the lablet-controller loops, in both profiles. */
const LAB_SCAN = { LAB_SCAN_INTERVAL: seconds(1800) }

const S3 = {
  ...REGION,
  ...OUTBOUND,
  /** Variables of the AWS SDK. */
  AWS_ENDPOINT_URL: url.optional(),
  AWS_ENDPOINT_URL_S3: url.optional(),
}
export type S3Environment = z.infer<z.ZodObject<typeof S3>>

/** Where the lablet-controller fetches topologies from. */
const CONTENT = {
  ...S3,
  LCM_CONTENT_HOSTS: hosts.optional(),
  LCM_CONTENT_BUCKETS: words.optional(),
}
export type ContentEnvironment = z.infer<z.ZodObject<typeof CONTENT>>

const UP = z.object({ ...LOOPS, ...CLEANUP, ...LAB_SCAN, ...CONTENT })
/** Variables of `lcm up`. The default log level is warn, because the output is a terminal. */
const UP_ALONE = UP.extend({
  LCM_LOG_LEVEL: z.enum(LOG_LEVELS).default('warn'),
  LCM_METRICS_PUBLIC: SHARED.LCM_METRICS_PUBLIC,
  ...TLS,
  ...WEBHOOK,
})
type LoopsEnvironment = z.infer<z.ZodObject<typeof LOOPS>>
export type UpEnvironment = z.infer<typeof UP_ALONE>

/** Errors for contradicting aliases, and for a discovery without any filter. */
function contradictions(given: Env): string[] {
  const { AUTO_IMPORT_ENABLED: one, WORKER_DISCOVERY_ENABLED: other } = given
  const differ = one !== undefined && other !== undefined && isOn(one) !== isOn(other)
  const takesAll = given.WORKER_DISCOVERY_TAG_FILTER === 'none' && given.WORKER_DISCOVERY_AMI_FILTER === undefined
  return [
    ...(differ ? [`AUTO_IMPORT_ENABLED=${one} and WORKER_DISCOVERY_ENABLED=${other} contradict each other`] : []),
    ...(takesAll
      ? [
          'WORKER_DISCOVERY_TAG_FILTER=none needs WORKER_DISCOVERY_AMI_FILTER, otherwise every machine would be imported',
        ]
      : []),
  ]
}
const isOn = (text: string): boolean => flag.safeParse(text).data === true

/** Variables of every controller that runs as a separate process. */
const SERVED = {
  ...SHARED,
  CONTROL_PLANE_API_URL: url.default('http://localhost:8080'),
  LCM_SERVICE_TOKEN: word,
  LCM_CA_FILE: file,
}

const RESOURCE_SCHEDULER = z.object({
  ...SERVED,
  RESOURCE_SCHEDULER_INSTANCE_ID: word.optional(),
  RECONCILE_INTERVAL: LOOPS.RECONCILE_INTERVAL,
  RECONCILE_POLLING_ENABLED: LOOPS.RECONCILE_POLLING_ENABLED,
  ...CLEANUP,
  ...REGION,
})
export type ResourceSchedulerEnvironment = z.infer<typeof RESOURCE_SCHEDULER>

const LABLET_CONTROLLER = z.object({
  ...SERVED,
  LABLET_CONTROLLER_INSTANCE_ID: word.optional(),
  RECONCILE_INTERVAL: LOOPS.RECONCILE_INTERVAL,
  RECONCILE_POLLING_ENABLED: LOOPS.RECONCILE_POLLING_ENABLED,
  ...LAB_SCAN,
  LCM_CONTENT_FOLDER: file,
  ...CONTENT,
  CML_DEFAULT_USERNAME: LOOPS.CML_DEFAULT_USERNAME,
  CML_DEFAULT_PASSWORD: LOOPS.CML_DEFAULT_PASSWORD,
})
export type LabletControllerEnvironment = z.infer<typeof LABLET_CONTROLLER>

const WORKER_CONTROLLER = z.object({
  ...SERVED,
  ...LOOPS,
  LCM_FLEET: z.string().regex(/^[\w.-]{1,64}$/, 'letters, digits, dots and dashes'),
  WORKER_CONTROLLER_INSTANCE_ID: word.optional(),
  READY_PROBE_INTERVAL: seconds(10),
  AWS_REGIONS_CONFIG_PATH: word,
})
export type WorkerControllerEnvironment = z.infer<typeof WORKER_CONTROLLER>
/** Variables that all served controllers share. */
export type ControllerEnvironment = z.infer<z.ZodObject<typeof SERVED>>
export type SharedEnvironment = Pick<ApiEnvironment, keyof typeof SHARED>

export type WebhookEnvironment = Pick<ApiEnvironment, keyof typeof WEBHOOK | keyof typeof OUTBOUND>

export const apiEnvironment = (env: Env): ApiEnvironment =>
  read(API, env, given => [...missingAccess(given), ...halfGiven(given)])
export const workerControllerEnvironment = (env: Env): WorkerControllerEnvironment =>
  read(WORKER_CONTROLLER, env, given => [...contradictions(given), ...halfGiven(given)])
export const resourceSchedulerEnvironment = (env: Env): ResourceSchedulerEnvironment =>
  read(RESOURCE_SCHEDULER, env, halfGiven)
export const labletControllerEnvironment = (env: Env): LabletControllerEnvironment =>
  read(LABLET_CONTROLLER, env, halfGiven)

/** Variables that `lcm doctor` reads; all of them are optional. */
const EXAMINED = z.object({
  ...SHARED,
  LCM_STORE: API.shape.LCM_STORE.optional(),
  LCM_CLOUD: API.shape.LCM_CLOUD.unwrap().optional(),
  AWS_REGIONS_CONFIG_PATH: file,
  AWS_ENDPOINT_URL: S3.AWS_ENDPOINT_URL,
  LCM_FLEET: WORKER_CONTROLLER.shape.LCM_FLEET.optional(),
})
export type ExaminedEnvironment = z.infer<typeof EXAMINED>
export const examinedEnvironment = (env: Env): ExaminedEnvironment => read(EXAMINED, env)
/** For a process in which the controllers run beside the API. */
export const upEnvironment = (env: Env): UpEnvironment =>
  read(UP_ALONE, env, given => [...contradictions(given), ...halfGiven(given)])

/** All variables by service, to check that they are documented. */
export const VARIABLES = {
  'control-plane-api': variablesOf(API),
  'resource-scheduler': variablesOf(RESOURCE_SCHEDULER),
  'lablet-controller': variablesOf(LABLET_CONTROLLER),
  'worker-controller': variablesOf(WORKER_CONTROLLER),
  up: variablesOf(UP),
  settings: variablesOf(SETTINGS),
} as const

/** Errors for incomplete options that would otherwise be ignored, such as a password of etcd without a user. */
function halfGiven(given: Env): string[] {
  const { ETCD_CA_FILE: ca, ETCD_CERT_FILE: cert, ETCD_KEY_FILE: key, ETCD_USERNAME: user, ETCD_PASSWORD: word } = given
  const isHalfTls = (given.LCM_TLS_CERT_FILE === undefined) !== (given.LCM_TLS_KEY_FILE === undefined)
  return [
    ...(isHalfTls ? ['LCM_TLS_CERT_FILE and LCM_TLS_KEY_FILE need each other'] : []),
    ...(ca === undefined && (cert ?? key) !== undefined ? ['ETCD_CERT_FILE and ETCD_KEY_FILE need ETCD_CA_FILE'] : []),
    ...((cert === undefined) === (key === undefined) ? [] : ['ETCD_CERT_FILE and ETCD_KEY_FILE need each other']),
    ...(user === undefined && word !== undefined ? ['ETCD_PASSWORD needs ETCD_USERNAME'] : []),
    ...((given.LCM_SMTP_URL === undefined) === (given.LCM_SMTP_FROM === undefined)
      ? []
      : ['LCM_SMTP_URL and LCM_SMTP_FROM need each other']),
  ]
}

/** Errors if neither an admin token nor OIDC is configured, because no user could log in. */
function missingAccess(given: Env): string[] {
  if (given.LCM_OIDC_ISSUER !== undefined) {
    const others = ['LCM_OIDC_AUDIENCE', 'LCM_OIDC_CLIENT_ID']
    // The provider sends browsers back to it. The address of the certificate's own server may be localhost.
    if (given.LCM_TLS_CERT_FILE !== undefined) others.push('LCM_PUBLIC_URL')
    return others.flatMap(name => (given[name] === undefined ? [`${name} must be set`] : []))
  }
  if (given.LCM_BOOTSTRAP_ADMIN_TOKEN_FILE !== undefined) return []
  return ['LCM_BOOTSTRAP_ADMIN_TOKEN_FILE must be set, or LCM_OIDC_ISSUER']
}

/** Converts variables to the config of the worker-controller. */
export const loopsOf = (env: LoopsEnvironment) => ({
  reconcileIntervalMs: env.RECONCILE_INTERVAL,
  pollingEnabled: env.RECONCILE_POLLING_ENABLED,
  metricsIntervalMs: env.METRICS_COLLECT_INTERVAL,
  idleCheckIntervalMs: env.IDLE_DETECTION_INTERVAL,
  discoveryIntervalMs: env.WORKER_DISCOVERY_INTERVAL,
  autoImportEnabled: env.AUTO_IMPORT_ENABLED ?? env.WORKER_DISCOVERY_ENABLED ?? true,
  discoveryAmiFilter: env.WORKER_DISCOVERY_AMI_FILTER,
  workerSeriesMax: env.METRICS_WORKER_SERIES_MAX,
  cmlDefaults: cmlDefaultsOf(env),
})

export const schedulerLoopsOf = (
  env: Pick<ResourceSchedulerEnvironment, 'RECONCILE_INTERVAL' | 'RECONCILE_POLLING_ENABLED' | keyof typeof CLEANUP>,
) => ({
  reconcileIntervalMs: env.RECONCILE_INTERVAL,
  pollingEnabled: env.RECONCILE_POLLING_ENABLED,
  cleanupIntervalMs: env.CLEANUP_INTERVAL,
  cleanupDryRun: env.CLEANUP_DRY_RUN,
})

export const labletLoopsOf = (
  env: Pick<LabletControllerEnvironment, 'RECONCILE_INTERVAL' | 'RECONCILE_POLLING_ENABLED' | keyof typeof LAB_SCAN>,
) => ({
  reconcileIntervalMs: env.RECONCILE_INTERVAL,
  pollingEnabled: env.RECONCILE_POLLING_ENABLED,
  labScanIntervalMs: env.LAB_SCAN_INTERVAL,
})

/** Null if no password is set. */
export const cmlDefaultsOf = (env: Pick<LoopsEnvironment, 'CML_DEFAULT_USERNAME' | 'CML_DEFAULT_PASSWORD'>) =>
  env.CML_DEFAULT_PASSWORD === '' ? null : { username: env.CML_DEFAULT_USERNAME, password: env.CML_DEFAULT_PASSWORD }

/** The token of the first administrator; null if only OIDC is used. */
export function bootstrapToken({ LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: path }: ApiEnvironment): string | null {
  if (path === undefined) return null
  const token = readNamedFile('LCM_BOOTSTRAP_ADMIN_TOKEN_FILE', path)
  if (/^[\x21-\x7e]{16,512}$/.test(token)) return token
  const needs = 'must contain 16 to 512 printable characters without spaces'
  throw new StartupError(`LCM_BOOTSTRAP_ADMIN_TOKEN_FILE=${path} ${needs}`, {
    advice: 'create one with `openssl rand -hex 32`',
    exitCode: 2,
  })
}

export function oidcOf(env: ApiEnvironment): OidcConfig | null {
  const { LCM_OIDC_ISSUER: issuer, LCM_OIDC_AUDIENCE: audience, LCM_OIDC_CLIENT_ID: clientId } = env
  if (issuer === undefined || audience === undefined || clientId === undefined) return null
  return { issuer, audience, clientId, roleClaim: env.LCM_OIDC_ROLE_CLAIM, scopes: env.LCM_OIDC_SCOPES }
}

export const etcdEndpoints = (env: SharedEnvironment): readonly string[] =>
  env.ETCD_ENDPOINTS ?? [`${env.ETCD_HOST}:${env.ETCD_PORT}`]
