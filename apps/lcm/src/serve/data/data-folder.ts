import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  SECRET_KEYS,
  type SecretKeys,
  secretKeysOf,
  storedKeys,
  textOfSecretKeys,
} from '@lcm/control-plane/keys/secret-keys'
import { StartupError } from '../startup-error.ts'
import { holdLock } from './lock.ts'
import { FLEET_ID_HINT, refuseUnfinishedRestore, wasRestored } from './restore-marks.ts'

export interface Endpoints {
  readonly api: string
  readonly aws: string | null
  readonly sim_control: string | null
  readonly pid: number
}

/** The data folder of an embedded LCM: files that only its owner can read, and a lock that ends with the process. */
export interface DataFolder {
  readonly path: string
  readonly adminToken: string
  readonly secretKeys: SecretKeys
  readonly fleetId: string
  file(name: string): string
  /** Writes endpoints.json, where commands find this process. */
  publish(endpoints: Endpoints): void
  /** Records the cloud of the fleet, after it was opened successfully. */
  bind(): void
  release(): void
}

/** Whether the folder was never used by LCM. */
export const isNewFolder = (path: string): boolean => !existsSync(join(path, 'fleet-id'))

/** Opens or creates a data folder. Refuses a folder of another cloud, where all machines of the fleet would appear lost. */
export function openDataFolder(given: string, cloud: string): DataFolder {
  const path = resolve(given)
  createFolder(path)
  refuseOpenFolder(path)
  const release = holdLock(join(path, 'lock'), path)
  try {
    refuseUnfinishedRestore(path)
    refuseOtherCloud(path, cloud)
    refuseLostFleetId(path)
    restrictFiles(path)
    return {
      path,
      adminToken: secret(path, 'admin-token', /^\S{16,}$/, () => randomBytes(32).toString('base64url')),
      secretKeys: secretKeysIn(path),
      fleetId: secret(path, 'fleet-id', /^[\w.-]{1,64}$/, () => `lcm-${randomBytes(4).toString('hex')}`),
      file: name => join(path, name),
      publish: endpoints => replaceFile(join(path, 'endpoints.json'), `${JSON.stringify(endpoints, null, 2)}\n`),
      bind: () => replaceFile(join(path, 'cloud'), `${cloud}\n`),
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

function refuseOtherCloud(path: string, cloud: string): void {
  const file = join(path, 'cloud')
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim() : cloud
  if (known === cloud) return
  const message = `${path} belongs to a fleet in cloud "${known}", not "${cloud}"`
  throw new StartupError(message, { advice: 'choose another folder with --data', exitCode: 2 })
}

/** Refuses to create a new fleet id for an existing fleet, because its machines would no longer be recognized. */
function refuseLostFleetId(path: string): void {
  const file = join(path, 'fleet-id')
  if (existsSync(file)) return
  if (wasRestored(path)) throw new StartupError(`${file} is missing`, { advice: FLEET_ID_HINT })
  if (existsSync(join(path, 'cloud')))
    throw new StartupError(`${file} is missing`, {
      advice: 'write the value of the tag lcm:fleet of your machines into it',
    })
}

export function createFolder(path: string): void {
  try {
    makeFolders(path)
    readdirSync(path)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new StartupError(`can't write to data folder ${path}: ${reasonOf(cause)}`, {
      advice: 'choose another with --data',
      cause,
    })
  }
}

/** Anyone but the owner. */
const OTHERS = 0o077
const OWNER_ONLY = 0o600
/** Windows has no such modes: there the folder inherits the permissions of its parent. */
const isOpen = (path: string): boolean => process.platform !== 'win32' && (statSync(path).mode & OTHERS) !== 0

/** Refuses a folder in which other users could read new files of the store. */
export function refuseOpenFolder(path: string): void {
  if (!isOpen(path)) return
  throw new StartupError(`other users of this machine can read data folder ${path}`, {
    advice: `run \`chmod 700 ${path}\`, or choose another folder with --data`,
  })
}

/** Earlier releases left the store readable by every user. */
function restrictFiles(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isFile()) restrictToOwner(join(path, entry.name))
  }
}

export function restrictToOwner(file: string): void {
  if (existsSync(file) && isOpen(file)) chmodSync(file, OWNER_ONLY)
}

/** Creates missing parents. Avoids `recursive: true`, which never returns on some file systems, such as /proc. */
function makeFolders(path: string): void {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^E\w+: /, '') : String(error)

function secretKeysIn(path: string): SecretKeys {
  const name = 'secret-key'
  const text = secret(path, name, SECRET_KEYS, () => randomBytes(32).toString('hex'))
  return storedKeys(secretKeysOf(text), keys => replaceFile(join(path, name), `${textOfSecretKeys(keys)}\n`))
}

/** Reads a secret, or creates it. Written to a temporary file and renamed, so that a crash can't leave a partial secret. */
function secret(path: string, name: string, shape: RegExp, make: () => string): string {
  const file = join(path, name)
  if (!existsSync(file)) replaceFile(file, `${make()}\n`)
  const text = readFileSync(file, 'utf8').trim()
  if (!shape.test(text))
    throw new StartupError(`${file} is damaged`, { advice: 'restore it; if it is lost, delete it to create a new one' })
  return text
}

function replaceFile(file: string, text: string): void {
  try {
    writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    sync(dirname(file))
  } catch (cause) {
    throw new StartupError(`can't write ${file}: ${reasonOf(cause)}`, {
      advice: 'fix the cause, or choose another folder with --data',
      cause,
    })
  }
}

/** Flushes a file or folder to disk. */
export function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } catch {
    // Some file systems can't sync a folder.
  } finally {
    closeSync(handle)
  }
}
