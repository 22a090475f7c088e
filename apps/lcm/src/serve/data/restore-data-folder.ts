import { existsSync, readdirSync } from 'node:fs'
import { open, rename, rm, rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { STORE_SCHEMA } from '@lcm/control-plane/resources'
import { systemClock } from '@lcm/runtime/clock'
import { type BackupParts, unpackBackup } from '@lcm/store/sqlite/backup'
import { StoreError } from '@lcm/store/store'
import { StartupError } from '../startup-error.ts'
import type { Io } from '../up.ts'
import { PARTS } from './backup-file.ts'
import { createFolder, refuseOpenFolder, sync } from './data-folder.ts'
import { decryptBackup, isEncrypted } from './encrypted-backup.ts'
import { holdLock } from './lock.ts'
import { FLEET_ID_HINT, RESTORED, UNFINISHED } from './restore-marks.ts'

export interface RestoreOptions {
  /** A file created by `lcm backup`. */
  readonly file: string
  /** A folder that does not exist yet, or is empty. */
  readonly dataDir: string
  /** Opens an encrypted backup. */
  readonly passphrase: string | null
}

const LOCK = 'lock'
const STORE = 'lcm.sqlite'
const DECRYPTED = 'backup.decrypted'
const TEXTS = [PARTS.secretKeys, PARTS.fleetId, PARTS.cloud] as const
const WRITTEN = [DECRYPTED, STORE, `${STORE}-journal`, ...TEXTS, PARTS.simulation, UNFINISHED, RESTORED]

/**
 * Creates a data folder from a backup, without a server. Rejects with a StartupError and then removes what it wrote. Fills the
 * folder in place instead of renaming it, because it may be a mount point.
 */
export async function restore(
  { file, dataDir, passphrase }: RestoreOptions,
  io: Pick<Io, 'out' | 'err'>,
): Promise<void> {
  const path = resolve(dataDir)
  const isNew = !existsSync(path)
  createFolder(path)
  refuseOpenFolder(path)
  refuseUsed(path)
  const release = holdLock(join(path, LOCK), path)
  try {
    const parts = await fill(path, { file, passphrase })
    for (const line of wordsAbout(parts, path, dataDir)) io.out(line)
    if (!parts.has(PARTS.fleetId)) io.err(`${join(path, PARTS.fleetId)} is missing: ${FLEET_ID_HINT}`)
  } catch (cause) {
    for (const name of WRITTEN) await rm(join(path, name), { force: true })
    release()
    await rm(join(path, LOCK), { force: true })
    if (isNew) await rmdir(path).catch(() => undefined)
    throw explained(cause, path)
  }
  release()
}

function explained(cause: unknown, path: string): unknown {
  if (cause instanceof StoreError) return new StartupError(cause.message, { cause })
  if (!(cause instanceof Error) || !('code' in cause)) return cause
  return new StartupError(`can't write to ${path} (${cause.code})`, {
    advice: 'choose another folder with --data',
    cause,
  })
}

function refuseUsed(path: string): void {
  const names = readdirSync(path)
  if (names.includes(LOCK)) holdLock(join(path, LOCK), path)()
  if (names.length === 0) return
  const what = names.includes(UNFINISHED) ? 'contains an incomplete restore' : 'is not empty'
  throw new StartupError(`${path} ${what}`, { advice: 'delete it, or choose a new folder with --data', exitCode: 4 })
}

/** Writes the UNFINISHED mark first, which keeps LCM from starting, and renames it to RESTORED last. */
async function fill(path: string, given: Pick<RestoreOptions, 'file' | 'passphrase'>): Promise<BackupParts> {
  await writeDurably(join(path, UNFINISHED), '')
  sync(path)
  const file = await decryptedFile(path, given)
  const parts = await unpackBackup(file, join(path, STORE), { nowMs: systemClock.now(), schema: STORE_SCHEMA })
  await rm(join(path, DECRYPTED), { force: true })
  sync(join(path, STORE))
  for (const name of TEXTS) if (parts.has(name)) await writeDurably(join(path, name), `${textIn(parts, name)}\n`)
  const simulation = parts.get(PARTS.simulation)
  if (simulation !== undefined) await writeDurably(join(path, PARTS.simulation), simulation)
  sync(path)
  await rename(join(path, UNFINISHED), join(path, RESTORED))
  sync(path)
  return parts
}

/** The backup itself, or a decrypted copy in the data folder. */
async function decryptedFile(
  path: string,
  { file, passphrase }: Pick<RestoreOptions, 'file' | 'passphrase'>,
): Promise<string> {
  if (!(await isEncrypted(file))) return file
  if (passphrase === null)
    throw new StartupError(`${file} is encrypted`, { advice: 'give its passphrase with --passphrase-file' })
  const copy = join(path, DECRYPTED)
  await writeDurably(copy, decryptBackup(file, passphrase))
  return copy
}

const textIn = (parts: BackupParts, name: string): string => Buffer.from(parts.get(name) ?? []).toString('utf8')

async function writeDurably(file: string, content: string | Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    if (typeof content === 'string' || content instanceof Uint8Array) await handle.writeFile(content)
    else for await (const chunk of content) await handle.writeFile(chunk)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function wordsAbout(parts: BackupParts, path: string, dataDir: string): string[] {
  const of = (name: string) => textIn(parts, name)
  return [
    `backup of ${of(PARTS.madeAt)} (LCM ${of(PARTS.version)}) restored to ${path}`,
    `start it with: lcm up --cloud ${of(PARTS.cloud)} --data ${dataDir}`,
  ]
}
