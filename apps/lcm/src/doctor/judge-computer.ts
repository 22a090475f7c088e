import { type Finding, failure, ok, warning } from './finding.ts'

const NODE_NEEDED = [20, 19] as const

/** `version` such as v22.1.0. */
export function judgeNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const [neededMajor, neededMinor] = NODE_NEEDED
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return ok('node', `Node.js ${version}`)
  return failure(
    'node',
    `Node.js ${version} is too old: LCM needs ${NODE_NEEDED.join('.')} or newer`,
    'install it from nodejs.org',
  )
}

export interface DiskFacts {
  readonly path: string
  readonly freeBytes: number
  readonly totalBytes: number
  /** Number of files that can still be created; null if the file system has no limit. */
  readonly freeFiles: number | null
}

const MB = 1024 * 1024
/** With less space, SQLite may fail during a checkpoint. */
const FULL_BYTES = 100 * MB
const SCARCE_BYTES = 1024 * MB
const SCARCE_FILES = 1000

export function judgeDisk({ path, freeBytes, totalBytes, freeFiles }: DiskFacts): Finding {
  const space = `${sizeOf(freeBytes)} of ${sizeOf(totalBytes)} free on the disk of ${path}`
  const next = 'free some space, or move the data to a larger disk (--data, LCM_STORE)'
  if (freeBytes < FULL_BYTES) return failure('disk', `the disk is full: ${space}`, next)
  if (freeFiles === 0) return failure('disk', `the disk of ${path} has no free inodes`, next)
  if (freeBytes < SCARCE_BYTES) return warning('disk', space, next)
  if (freeFiles !== null && freeFiles < SCARCE_FILES)
    return warning('disk', `the disk of ${path} has only ${freeFiles} free inodes`, next)
  return ok('disk', space)
}

function sizeOf(bytes: number): string {
  const units = ['MB', 'GB', 'TB']
  let size = bytes / MB
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`
}

export interface FolderFacts {
  readonly path: string
  readonly exists: boolean
  /** Reason why it can't be used; null if it can, or does not exist. */
  readonly problem: string | null
  readonly isLocked: boolean | null
  /** The process that last published its endpoints, and whether it still runs. */
  readonly process: { readonly pid: number; readonly lives: boolean } | null
}

/** `isNeeded` is set if commands use this folder to find LCM. */
export function judgeFolder({ path, exists, problem, isLocked, process }: FolderFacts, isNeeded: boolean): Finding {
  if (!exists) {
    if (!isNeeded) return ok('data', `data folder ${path} does not exist and is not needed`)
    return warning(
      'data',
      `data folder ${path} does not exist`,
      'start LCM with `npm start`, or set another folder with --data',
    )
  }
  if (problem !== null)
    return failure('data', `data folder ${path} can't be used: ${problem}`, 'make it owned by the user who runs LCM')
  if (isLocked === true) {
    const who = process === null ? 'a process' : `process ${process.pid}`
    return ok('data', `${path} is in use by ${who}`)
  }
  if (process?.lives) {
    const message = `process ${process.pid} is running but does not hold the lock of ${path}`
    return warning(
      'data',
      message,
      'check whether that process is LCM: `lcm up` may have ended and its process id been reused',
    )
  }
  if (!isNeeded) return ok('data', `data folder ${path} OK, not in use`)
  return warning('data', `data folder ${path} is not in use by any LCM`, 'start it with `npm start`')
}
