import { type Finding, failure, ok, warning } from './finding.ts'

const NODE_NEEDED = [20, 19] as const

/** `version` as Node says it, such as v22.1.0. */
export function judgeNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const [neededMajor, neededMinor] = NODE_NEEDED
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return ok('node', `Node.js ${version}`)
  return failure(
    'node',
    `this is Node.js ${version}, and LCM needs ${NODE_NEEDED.join('.')} or newer`,
    'install it from nodejs.org',
  )
}

export interface DiskFacts {
  readonly path: string
  readonly freeBytes: number
  readonly totalBytes: number
  /** How many files more there is room for; null where the file system does not count. */
  readonly freeFiles: number | null
}

const MB = 1024 * 1024
/** With less SQLite may fail in the middle of a checkpoint. */
const FULL_BYTES = 100 * MB
const SCARCE_BYTES = 1024 * MB
const SCARCE_FILES = 1000

export function judgeDisk({ path, freeBytes, totalBytes, freeFiles }: DiskFacts): Finding {
  const room = `${sizeOf(freeBytes)} of ${sizeOf(totalBytes)} are free on the disk of ${path}`
  const next = 'make room there, or move the data to a larger disk (--data, LCM_STORE)'
  if (freeBytes < FULL_BYTES) return failure('disk', `the disk is full: ${room}`, next)
  if (freeFiles === 0) return failure('disk', `the disk of ${path} takes no more files`, next)
  if (freeBytes < SCARCE_BYTES) return warning('disk', room, next)
  if (freeFiles !== null && freeFiles < SCARCE_FILES)
    return warning('disk', `the disk of ${path} takes only ${freeFiles} more files`, next)
  return ok('disk', room)
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
  /** Why it can't be used; null where it can, or is not there. */
  readonly problem: string | null
  readonly isLocked: boolean | null
  /** Who should hold the lock, and whether that process lives. */
  readonly process: { readonly pid: number; readonly lives: boolean } | null
}

/** `isNeeded`: LCM is looked for there, since nobody named another. */
export function judgeFolder({ path, exists, problem, isLocked, process }: FolderFacts, isNeeded: boolean): Finding {
  if (!exists) {
    if (!isNeeded) return ok('data', `there is no data folder ${path}, and none is needed`)
    return warning(
      'data',
      `there is no data folder ${path}`,
      'start LCM with `npm start`, or name a folder with --data',
    )
  }
  if (problem !== null)
    return failure('data', `the data folder ${path} can't be used: ${problem}`, 'give it back to the user who runs LCM')
  if (isLocked === true) {
    const who = process === null ? 'a process' : `process ${process.pid}`
    return ok('data', `${path} is in use by ${who}`)
  }
  if (process?.lives) {
    const sentence = `process ${process.pid} lives but does not hold the lock of ${path}`
    return warning(
      'data',
      sentence,
      'see whether that process is LCM: `lcm up` may have ended and its number been given away',
    )
  }
  if (!isNeeded) return ok('data', `${path} can be used; no LCM runs on it`)
  return warning('data', `${path} can be used, but no LCM runs on it`, 'start it with `npm start`')
}
