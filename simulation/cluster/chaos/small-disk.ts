import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of a few megabytes in a separate mount namespace. It needs no privileges where user namespaces are allowed. */
export interface SmallDisk {
  /** Value of `LCM_STORE`. */
  readonly store: string
  /** Prefix of a command that runs in the mount namespace. */
  readonly within: readonly string[]
  /** Leaves no free block. */
  fill(): void
  freeSpace(): void
  /** Fails while a process has a file open for writing. */
  setReadOnly(isReadOnly: boolean): void
  freeBytes(): number
  close(): Promise<void>
}

/** Mounts the disk, prints `mounted`, and keeps the namespace until its input is closed. */
const KEEPER = 'mount -t tmpfs -o size=$1 none "$2" && echo mounted && exec cat >/dev/null'

/** Null when the system does not allow it. */
export async function openSmallDisk(megabytes: number): Promise<SmallDisk | null> {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-disk-'))
  const args = ['-rm', 'sh', '-c', KEEPER, 'keeper', `${megabytes}m`, folder]
  const keeper = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'ignore'] })
  keeper.on('error', () => undefined)
  const isMounted = await Promise.race([once(keeper.stdout, 'data').then(() => true), ended(keeper).then(() => false)])
  if (!isMounted) {
    rmSync(folder, { recursive: true, force: true })
    return null
  }
  return diskOf(keeper, folder)
}

const ended = (child: ChildProcess): Promise<unknown> =>
  new Promise(resolve => child.once('error', resolve).once('exit', resolve))

function diskOf(keeper: ChildProcess, folder: string): SmallDisk {
  const within = ['/usr/bin/env', 'nsenter', '-t', String(keeper.pid), '-U', '-m', '--preserve-credentials']
  const [command = '', ...rest] = within
  /** The same folder outside of the namespace. */
  const outside = join(`/proc/${keeper.pid}/root`, folder)
  const ballast = join(outside, 'ballast')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(outside)
    return bavail * bsize
  }
  return {
    store: `sqlite:${join(folder, 'lcm.sqlite')}`,
    within,
    freeBytes,
    fill() {
      // Concurrent writers may use space that was free a moment ago, or leave some.
      for (let n = 0; freeBytes() > 0; n += 1)
        try {
          writeFileSync(`${ballast}-${n}`, Buffer.alloc(freeBytes()))
        } catch (error) {
          if (!String(error).includes('ENOSPC')) throw error
        }
    },
    freeSpace() {
      for (let n = 0; existsSync(`${ballast}-${n}`); n += 1) rmSync(`${ballast}-${n}`)
    },
    setReadOnly(isReadOnly) {
      execFileSync(command, [...rest, 'mount', '-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, folder])
    },
    async close() {
      const gone = ended(keeper)
      keeper.stdin?.end()
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
