import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '../startup-error.ts'
import { holdLock } from './lock.ts'
import { FLEET_ID_HINT, refuseUnfinishedRestore, wasRestored } from './restored-fleet.ts'

export interface Endpoints {
  readonly api: string
  readonly aws: string | null
  readonly sim_control: string | null
  readonly pid: number
}

/** Everything that one embedded LCM keeps: secrets readable by its owner only, and a lock that dies with the process. */
export interface DataFolder {
  readonly path: string
  readonly adminToken: string
  readonly secretKey: Uint8Array
  readonly fleetId: string
  file(name: string): string
  /** Tells the command line where to find this process. */
  publish(endpoints: Endpoints): void
  /** Writes down which cloud the fleet is in, once it has been reached. */
  bind(): void
  release(): void
}

/** Whether no LCM has ever kept anything there. */
export const isNewFolder = (path: string): boolean => !existsSync(join(path, 'fleet-id'))

/** Refuses a folder that is bound to another cloud: there its whole fleet would be missing, and be written off. */
export function openDataFolder(given: string, cloud: string): DataFolder {
  const path = resolve(given)
  createFolder(path)
  const release = holdLock(join(path, 'lock'), path)
  try {
    refuseUnfinishedRestore(path)
    refuseOtherCloud(path, cloud)
    refuseLostFleetId(path)
    return {
      path,
      adminToken: secret(path, 'admin-token', /^\S{16,}$/, () => randomBytes(32).toString('base64url')),
      secretKey: Buffer.from(
        secret(path, 'secret-key', /^[0-9a-f]{64}$/, () => randomBytes(32).toString('hex')),
        'hex',
      ),
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
  const message = `${path} belongs to a fleet in the cloud "${known}", not "${cloud}". Name another folder with --data`
  throw new StartupError(message, { exitCode: 2 })
}

/** A new one would make strangers of all machines of the fleet. */
function refuseLostFleetId(path: string): void {
  const file = join(path, 'fleet-id')
  if (existsSync(file)) return
  if (wasRestored(path)) throw new StartupError(`${file} is missing: ${FLEET_ID_HINT}`)
  if (existsSync(join(path, 'cloud')))
    throw new StartupError(`${file} is missing: write into it what your machines have as their tag lcm:fleet`)
}

export function createFolder(path: string): void {
  try {
    makeFolders(path)
    readdirSync(path)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new StartupError(`the data folder ${path} can not be written: ${reasonOf(cause)}. Name another with --data`, {
      cause,
    })
  }
}

/** Not `recursive: true`, which never returns where a file system refuses new names without saying so, such as /proc. */
function makeFolders(path: string): void {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^E\w+: /, '') : String(error)

/** Read, or made once. Written beside and moved into place, so neither a crash nor a power cut leaves half a secret. */
function secret(path: string, name: string, shape: RegExp, make: () => string): string {
  const file = join(path, name)
  if (!existsSync(file)) replaceFile(file, `${make()}\n`)
  const text = readFileSync(file, 'utf8').trim()
  if (!shape.test(text)) throw new StartupError(`${file} is damaged. Restore it, or remove it to get a new one`)
  return text
}

function replaceFile(file: string, text: string): void {
  try {
    writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    sync(dirname(file))
  } catch (cause) {
    throw new StartupError(
      `${file} can not be written: ${reasonOf(cause)}. Mend that, or name another folder with --data`,
      {
        cause,
      },
    )
  }
}

/** What a file or a folder holds is on the disk when it returns. */
export function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } catch {
    // Not every file system can do this for a folder; there, the order of writes is the system's own.
  } finally {
    closeSync(handle)
  }
}
