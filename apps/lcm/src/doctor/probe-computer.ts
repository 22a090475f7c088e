import { constants } from 'node:fs'
import { access, readFile, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { DiskFacts, FolderFacts } from './judge-computer.ts'

/** Fields of `statfs`. */
export interface FileSystem {
  readonly bavail: number
  readonly blocks: number
  readonly bsize: number
  readonly files: number
  readonly ffree: number
}
export type ReadFileSystem = (path: string) => Promise<FileSystem>

/** Reads the free space at the nearest existing folder. Null for file systems without a size. */
export async function probeDisk(path: string, read: ReadFileSystem = statfs): Promise<DiskFacts | null> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const facts = await read(folder).catch(() => null)
    if (facts !== null) return facts.blocks === 0 ? null : diskFacts(path, facts)
    if (folder === dirname(folder)) return null
  }
}

const diskFacts = (path: string, { bavail, blocks, bsize, files, ffree }: FileSystem): DiskFacts => ({
  path,
  freeBytes: bavail * bsize,
  totalBytes: blocks * bsize,
  freeFiles: files === 0 ? null : ffree,
})

export type ProbedFolder = Omit<FolderFacts, 'isLocked'>

export async function probeFolder(path: string): Promise<ProbedFolder> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const exists = found.code !== 'ENOENT' && found.code !== 'ENOTDIR'
    return { path, exists, problem: exists ? found.message : null, process: null }
  }
  const problem = found.isDirectory()
    ? await access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(() => null, reasonOf)
    : 'it is not a folder'
  return { path, exists: true, problem, process: await publisherOf(path) }
}

const reasonOf = (error: Error): string => error.message.replace(/^E\w+: /, '')

/** The process that last wrote endpoints.json. */
async function publisherOf(path: string): Promise<ProbedFolder['process']> {
  const text = await readFile(join(path, 'endpoints.json'), 'utf8').catch(() => '')
  const pid = Number(/"pid": *(\d+)/.exec(text)?.[1])
  return Number.isInteger(pid) && pid > 0 ? { pid, lives: isAlive(pid) } : null
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process runs, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
