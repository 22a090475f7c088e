import { readdirSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ProblemError } from '@lcm/contract/problems'
import type { MakeBackup } from '@lcm/control-plane/create-backup'
import { type SecretKeys, textOfSecretKeys } from '@lcm/control-plane/keys/secret-keys'
import { toInstant } from '@lcm/domain/instant'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { type BackupParts, completeChunks, packBackup, sealedChunks, verifyBackup } from '@lcm/store/sqlite/backup'
import { type Store, StoreError } from '@lcm/store/store'
import { StartupError } from '../startup-error.ts'
import { VERSION } from '../version.ts'
import { decryptBackup } from './encrypted-backup.ts'

export interface BackedUp {
  readonly store: Store
  /** Copies are written next to this file, because secrets may not leave its folder. */
  readonly storeFile: string
  readonly secretKeys: SecretKeys
  /** Null if only the controllers know it. */
  readonly fleetId: string | null
  readonly cloud: string
  /** Copies the simulated cloud to a new file; null for AWS, which can't be restored. */
  readonly copyCloud: ((file: string) => Promise<void>) | null
  readonly clock: Clock
  readonly log: Logger
}

/** Parts of a backup besides the store. */
export const PARTS = {
  secretKeys: 'secret-key',
  fleetId: 'fleet-id',
  cloud: 'cloud',
  madeAt: 'made-at',
  version: 'version',
  simulation: 'sim.sqlite',
} as const

/**
 * Returns the function that creates backups; null for MongoDB, which has its own tools. Call it only while this process holds the
 * store, because it removes incomplete copies of earlier processes.
 */
export function backupsOf(source: BackedUp): MakeBackup | null {
  const { store, storeFile, log } = source
  const copyStore = store.backup
  if (copyStore === null) return null
  const prefix = `${storeFile}.backup-`
  removeLeftovers(prefix)
  return async signal => {
    const folder = await mkdtemp(prefix)
    const remove = () =>
      rm(folder, { recursive: true, force: true }).catch(err =>
        log.warn({ err, folder }, 'could not remove the temporary copy of a backup'),
      )
    try {
      const file = await newFile(folder, 'backup')
      const before = source.secretKeys.all()
      await copyStore(file)
      // A rotation may remove a key during the copy that seals texts in it.
      const keys = [...source.secretKeys.all()]
      for (const key of before) if (!keys.includes(key)) keys.push(key)
      // The cloud is copied after the store, because every restore must handle a store that is older than its cloud.
      packBackup(file, await partsOf(source, { folder, keys }))
      return read({ file, remove, log }, signal)
    } catch (cause) {
      await remove()
      log.error({ err: cause }, 'backup failed')
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new ProblemError('store_unavailable', `the backup failed: ${reason}`)
    }
  }
}

/** Rejects with a StartupError unless the file is a complete backup, which `passphrase` opens if it is not null. */
export async function checkBackup(file: string, passphrase: string | null): Promise<void> {
  try {
    if (passphrase === null) return await verifyBackup(file)
    for await (const _ of completeChunks(decryptBackup(file, passphrase), file));
  } catch (cause) {
    throw cause instanceof StoreError ? new StartupError(cause.message, { cause }) : cause
  }
}

function removeLeftovers(prefix: string): void {
  for (const name of readdirSync(dirname(prefix)))
    if (name.startsWith(basename(prefix))) rmSync(join(dirname(prefix), name), { recursive: true, force: true })
}

/** Creates an empty file that only its owner can read. SQLite keeps the mode. */
async function newFile(folder: string, name: string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, '', { mode: 0o600, flag: 'wx' })
  return file
}

async function partsOf(
  source: BackedUp,
  { folder, keys }: { folder: string; keys: readonly Uint8Array[] },
): Promise<BackupParts> {
  const texts: readonly (readonly [string, string | null])[] = [
    [PARTS.secretKeys, textOfSecretKeys(keys)],
    [PARTS.fleetId, source.fleetId],
    [PARTS.cloud, source.cloud],
    [PARTS.madeAt, toInstant(source.clock.now())],
    [PARTS.version, VERSION],
  ]
  const parts = new Map<string, Uint8Array>()
  for (const [name, text] of texts) if (text !== null) parts.set(name, Buffer.from(text))
  if (source.copyCloud === null) return parts
  const file = await newFile(folder, PARTS.simulation)
  await source.copyCloud(file)
  return parts.set(PARTS.simulation, await readFile(file))
}

interface Made {
  readonly file: string
  readonly log: Logger
  remove(): Promise<void>
}

/** Removes the copy on abort, because a client that disconnects before the first byte never starts the generator. */
function read(made: Made, signal: AbortSignal): AsyncIterable<Uint8Array> {
  signal.addEventListener('abort', made.remove, { once: true })
  if (signal.aborted) void made.remove()
  return removedAfter(made, signal)
}

async function* removedAfter({ file, log, remove }: Made, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of sealedChunks(file)) {
      signal.throwIfAborted()
      yield chunk
    }
  } catch (err) {
    if (!signal.aborted) log.error({ err }, 'sending a backup failed')
    throw err
  } finally {
    signal.removeEventListener('abort', remove)
    await remove()
  }
}
