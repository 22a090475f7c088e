import { readFileSync } from 'node:fs'
import { LOG_LEVELS } from '@lcm/service/pino-logger'
import { z } from 'zod'
import { StartupError } from './startup-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

const seconds = (fallback: number) =>
  z.coerce
    .number()
    .positive()
    .max(86_400)
    .default(fallback)
    .transform(s => s * 1000)
const flag = (fallback: boolean) => z.stringbool().default(fallback)
const word = z.string().min(1)
const file = word.optional()
const words = z.string().transform(list =>
  list
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== ''),
)

/** Every variable that a service reads, with its default. Seconds become milliseconds here and nowhere else. */
const SHARED = {
  LCM_LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  LCM_COORDINATION: z.enum(['etcd']).default('etcd'),
  ETCD_HOST: word.default('localhost'),
  ETCD_PORT: z.coerce.number().int().min(1).max(65_535).default(2379),
  ETCD_ENDPOINTS: words.optional(),
  ETCD_USERNAME: word.optional(),
  ETCD_PASSWORD: z.string().optional(),
  ETCD_CA_FILE: file,
  ETCD_CERT_FILE: file,
  ETCD_KEY_FILE: file,
  LEADER_LEASE_TTL: seconds(15),
  LCM_LIVENESS_HOST: word.default('127.0.0.1'),
}

const API = z.object({
  ...SHARED,
  LCM_STORE: z
    .string()
    .regex(/^sqlite:.+/, 'sqlite:PATH')
    .transform(store => store.slice('sqlite:'.length)),
  LCM_SECRET_KEY: z.string().regex(/^[0-9a-f]{64}$/i, '64 hexadecimal digits, such as `openssl rand -hex 32` makes'),
  LCM_BOOTSTRAP_ADMIN_TOKEN_FILE: word,
  LCM_PUBLIC_HOSTS: words.default([]),
  LCM_CLOUD: z.enum(['sim', 'aws']).default('aws'),
  AWS_REGIONS_CONFIG_PATH: word,
})
export type ApiEnvironment = z.infer<typeof API>

const WORKER_CONTROLLER = z.object({
  ...SHARED,
  CONTROL_PLANE_API_URL: z.url().default('http://localhost:8080'),
  LCM_SERVICE_TOKEN: word,
  LCM_FLEET: z.string().regex(/^[\w.-]{1,64}$/, 'letters, digits, dots and dashes'),
  WORKER_CONTROLLER_INSTANCE_ID: word.optional(),
  RECONCILE_INTERVAL: seconds(30),
  RECONCILE_POLLING_ENABLED: flag(true),
  READY_PROBE_INTERVAL: seconds(10),
  AWS_REGIONS_CONFIG_PATH: word,
})
export type WorkerControllerEnvironment = z.infer<typeof WORKER_CONTROLLER>
export type SharedEnvironment = Pick<ApiEnvironment, keyof typeof SHARED>

export const apiEnvironment = (env: Env): ApiEnvironment => read(API, env)
export const workerControllerEnvironment = (env: Env): WorkerControllerEnvironment => read(WORKER_CONTROLLER, env)

/** An empty variable counts as unset, as shells and unit files make them. */
function read<T extends z.ZodObject>(schema: T, env: Env): z.output<T> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const wrong = result.error.issues.map(({ path: [name], message }) => {
    const value = given[String(name)]
    return value === undefined
      ? `${String(name)} must be set`
      : `${String(name)}=${shown(String(name), value)}: ${message}`
  })
  throw new StartupError(`${wrong.join('; ')}. See docs/reference/config.md`, { exitCode: 2 })
}

const shown = (name: string, value: string): string => (/TOKEN$|KEY$|PASSWORD$/.test(name) ? '(hidden)' : value)

/** The content of a file that a variable names. */
export function readNamedFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new StartupError(`${name}=${path} can not be read`, { cause, exitCode: 2 })
  }
}

export const etcdEndpoints = (env: SharedEnvironment): readonly string[] =>
  env.ETCD_ENDPOINTS ?? [`${env.ETCD_HOST}:${env.ETCD_PORT}`]
