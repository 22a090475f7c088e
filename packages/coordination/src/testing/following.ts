import { isCompacted } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { ChangeKeys } from '../change-keys.ts'

export interface Follower {
  /** Of every put, in the order in which they came. */
  readonly versions: number[]
  /** How often the stream ended and was opened again. */
  readonly breaks: number
  /** How often everything was listed. */
  readonly lists: number
  stop(): void
}

const REOPEN_AFTER_MS = 20

/** Reads as a controller does: resumes after the last revision that it was given, and lists when that is gone. */
export function following(keys: ChangeKeys, prefix: string): Follower {
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
