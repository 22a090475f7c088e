import { type FileHandle, mkdtemp, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CliError, EXIT } from '../cli-error.ts'

export interface Saving {
  /** Whether an existing file may be replaced. */
  readonly force: boolean
  /** Rejects if the written file is invalid; the file is then deleted. */
  check(written: string): Promise<void>
}

/**
 * Writes a file that only its owner can read, in a temporary folder beside the target, and renames it when it is complete and
 * synced. A failure leaves no files behind. Returns the size in bytes.
 */
export async function saveFile(file: string, chunks: () => Promise<AsyncIterable<Uint8Array>>, saving: Saving) {
  await refuseTaken(file, saving.force)
  const folder = await onDisk(file, mkdtemp(`${file}.`))
  try {
    const written = join(folder, 'whole')
    const given = await chunks()
    const bytes = await writeAll(file, await onDisk(file, open(written, 'wx', 0o600)), given)
    await saving.check(written)
    await refuseTaken(file, saving.force)
    await onDisk(file, rename(written, file))
    await sync(dirname(file))
    return bytes
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes the rename durable. Some file systems can't sync a folder. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

async function writeAll(file: string, handle: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      await onDisk(file, handle.writeFile(chunk))
      bytes += chunk.length
    }
    await onDisk(file, handle.sync())
    return bytes
  } finally {
    await handle.close()
  }
}

async function refuseTaken(file: string, force: boolean): Promise<void> {
  const there = await stat(file).catch(() => null)
  if (there === null || (force && there.isFile())) return
  const next = there.isFile() ? 'choose another name, or overwrite it with --force' : 'choose the name of a file'
  throw new CliError(EXIT.conflict, `${file} already exists`, next)
}

async function onDisk<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new CliError(EXIT.failed, `${file} can't be written (${reason})`, NEXT[reason] ?? 'choose another file')
  }
}

const NEXT: Readonly<Record<string, string>> = {
  ENOENT: 'create its folder first',
  ENOSPC: 'free some space on that disk',
}
