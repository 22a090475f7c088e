import { isCompacted } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { ChangeKeys } from '../change-keys.ts'

export interface Follower {
  /** Versions of every put, in order. */
  readonly versions: number[]
  /** Number of stream restarts. */
  readonly breaks: number
  /** Number of lists. */
  readonly lists: number
  stop(): void
}

const REOPEN_AFTER_MS = 20

/** Reads as a controller does: resumes after the last revision, and lists when that is compacted. */
export function follow(keys: ChangeKeys, prefix: string): Follower {
  const stop = new AbortController()
  const follower = { versions: [] as number[], breaks: 0, lists: 0, stop: () => stop.abort() }
  const source = keys.source(prefix)
  let after: number | undefined
  const list = async () => {
    const { revision } = await source.list(stop.signal)
    follower.lists += 1
    return revision
  }
  const readOn = async () => {
    after ??= await list()
    for await (const message of source.watch(after, stop.signal)) {
      after = message.revision
      if (message.type === 'put') follower.versions.push(message.hint.version)
    }
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      await readOn().catch(error => {
        if (isCompacted(error)) after = undefined
      })
      follower.breaks += 1
      await systemClock.sleep(REOPEN_AFTER_MS, stop.signal)
    }
  }
  void run()
  return follower
}
