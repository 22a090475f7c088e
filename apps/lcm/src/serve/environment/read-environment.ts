import { readFileSync, statSync } from 'node:fs'
import { issueWords } from '@lcm/domain/text/schema-issue-words'
import type { z } from 'zod'
import { StartupError } from '../startup-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Secrets by variable, with the variable that names a file with the value instead. */
const SECRET_FILES: ReadonlyMap<string, string> = new Map([
  ['LCM_STORE', 'LCM_STORE_FILE'],
  ['LCM_SECRET_KEY', 'LCM_SECRET_KEY_FILE'],
  ['LCM_SERVICE_TOKEN', 'LCM_SERVICE_TOKEN_FILE'],
  ['LCM_WEBHOOK_URL', 'LCM_WEBHOOK_URL_FILE'],
  ['LCM_SMTP_URL', 'LCM_SMTP_URL_FILE'],
  ['ETCD_PASSWORD', 'ETCD_PASSWORD_FILE'],
  ['CML_DEFAULT_PASSWORD', 'CML_DEFAULT_PASSWORD_FILE'],
])

/** All variables that a schema accepts. */
export const variablesOf = ({ shape }: z.ZodObject): string[] =>
  Object.keys(shape).flatMap(name => [name, SECRET_FILES.get(name) ?? []].flat())

/** Parses variables. An empty variable counts as unset, as in unit files. */
export function read<T extends z.ZodObject>(
  schema: T,
  env: Env,
  check: (given: Env) => string[] = () => [],
): z.output<T> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const { given, refused } = withSecretFiles({ AWS_REGION: set.AWS_DEFAULT_REGION, ...set }, schema)
  const result = schema.safeParse(given)
  const missing = check(given)
  if (result.success && missing.length === 0 && refused.size === 0) return result.data
  const wrong = (result.error?.issues ?? []).flatMap(issue => {
    const name = String(issue.path[0])
    return refused.has(name) ? [] : [wrongValue(name, given, issueWords(issue))]
  })
  throw new InvalidEnvironmentError([...refused.values(), ...wrong, ...missing])
}

function wrongValue(name: string, given: Env, allowed: string): string {
  const fileName = SECRET_FILES.get(name) ?? ''
  const [path, value] = [given[fileName], given[name]]
  if (path !== undefined) return `${fileName}=${path}: ${allowed}`
  return value === undefined ? `${name} must be set` : `${name}=${shown(name, value)}: ${allowed}`
}

/** Adds the secrets that come from files. `refused` has an error for each file that can't be used, by its secret. */
function withSecretFiles(env: Env, { shape }: z.ZodObject) {
  const given: Record<string, string | undefined> = { ...env }
  const refused = new Map<string, string>()
  for (const [name, fileName] of SECRET_FILES) {
    const path = env[fileName]
    if (path === undefined || !Object.hasOwn(shape, name)) continue
    const content = env[name] === undefined ? contentOf(path) : new Error(`${name} is set too; set only one of them`)
    if (content instanceof Error) refused.set(name, `${fileName}=${path}: ${content.message}`)
    else given[name] = content
  }
  return { given, refused }
}

/** Without its last line break, which editors and `echo` add. */
function contentOf(path: string): string | Error {
  try {
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    return text === '' ? new Error('the file is empty') : text
  } catch (error) {
    return new Error(`the file can't be read (${error instanceof Error && 'code' in error ? error.code : error})`)
  }
}

/** Other users of the machine may read. */
const READABLE_BY_OTHERS = 0o004
/** A container has no other users, and Docker mounts secrets as open files. */
const CONTAINER_FOLDER = '/run/secrets/'
const PRIVATE_FILES = /^(LCM|ETCD|CML)_\w*(PASSWORD|TOKEN|STORE|KEY|URL)_FILE$/

/** A warning for each file with a secret that every user of the machine may read. */
export const openSecretFiles = (env: Env): readonly string[] =>
  Object.entries(env).flatMap(([name, path = '']) =>
    PRIVATE_FILES.test(name) && !path.startsWith(CONTAINER_FOLDER) && isReadableByOthers(path)
      ? [`${name}=${path} can be read by every user of this machine. Run: chmod 600 ${path}`]
      : [],
  )

/** False for a file that can't be examined, and on Windows, where the mode says nothing. */
function isReadableByOthers(path: string): boolean {
  try {
    return process.platform !== 'win32' && (statSync(path).mode & READABLE_BY_OTHERS) !== 0
  } catch {
    return false
  }
}

/** Variables are missing or have values that are not allowed: one text for each. */
class InvalidEnvironmentError extends StartupError {
  readonly errors: readonly string[]

  constructor(errors: readonly string[]) {
    super(errors.join('; '), {
      advice: 'set an allowed value and start again, see docs/reference/config.md',
      exitCode: 2,
    })
    this.errors = errors
  }
}

/** Reads both and reports the errors of both together. */
export function readBoth<A, B>(first: () => A, second: () => B): readonly [A, B] {
  const wrong: string[] = []
  const attempt = <T>(read: () => T): T | null => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof InvalidEnvironmentError)) throw error
      wrong.push(...error.errors)
      return null
    }
  }
  const [a, b] = [attempt(first), attempt(second)]
  if (a === null || b === null) throw new InvalidEnvironmentError(wrong)
  return [a, b]
}

const shown = (name: string, value: string): string =>
  SECRET_FILES.has(name) || /TOKEN$|KEY$|PASSWORD$/.test(name) ? '(hidden)' : value

/** The content of a file that a variable names. */
export function readNamedFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new StartupError(`${name}=${path} can't be read`, { cause, exitCode: 2 })
  }
}
