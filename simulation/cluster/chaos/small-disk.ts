import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk of a few megabytes in a mount namespace of its own, which needs no rights where user namespaces are allowed. */
export interface SmallDisk {
  /** As in `LCM_STORE`. */
  readonly store: string
  /** The command that runs another where the disk is mounted. */
  readonly within: readonly string[]
  /** Leaves not one free block. */
  fill(): void
  makeRoom(): void
  /** No process may have a file open for writing there. */
  setReadOnly(isReadOnly: boolean): void
  freeBytes(): number
  close(): Promise<void>
}

/** Mounts the disk, says so, and keeps the namespace for as long as somebody holds its input open. */
const KEEPER = 'mount -t tmpfs -o size=$1 none "$2" && echo mounted && exec cat >/dev/null'

/** Null where the system does not allow it. */
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
  /** The same folder, as it looks from outside of the namespace. */
  const seen = join(`/proc/${keeper.pid}/root`, folder)
  const ballast = join(seen, 'ballast')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(seen)
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
    makeRoom() {
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
