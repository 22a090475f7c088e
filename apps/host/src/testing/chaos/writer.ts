import type { Client } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { auditVerdict, type Diary } from '../kill-storm.ts'

const WRITE_EVERY_MS = 50

/** Writes one number after the other to a worker, each until it is acknowledged, and remembers what it was told. */
export interface Writer {
  readonly acknowledged: number
  /** Stops, and answers what was acknowledged and is not there: neither in the worker nor in the audit. */
  stop(): Promise<readonly string[]>
}

export function startWriter(client: Client, id: string): Writer {
  const stopping = new AbortController()
  const diary: Diary = { id, askedAt: systemClock.monotonic(), acknowledged: new Map(), uncertain: new Set() }
  let n = 0
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      const { version } = await client.call('patchWorker', { params: { id }, body: { labels: { n: String(n + 1) } } })
      n += 1
      diary.acknowledged.set(version, n)
      await systemClock.sleep(WRITE_EVERY_MS, stopping.signal)
    }
  })()
  // Whoever stops it is told what went wrong.
  ended.catch(() => undefined)
  return {
    get acknowledged() {
      return n
    },
    async stop() {
      stopping.abort()
      const broke = await ended.then(
        () => [],
        (error: Error) => [`the writer gave up: ${error.message}`],
      )
      const { labels } = await client.call('getWorker', { params: { id } })
      const label = Number(labels.n) === n ? [] : [`${id} has the label ${labels.n} instead of ${n}`]
      const { auditLost, auditTwice } = await auditVerdict({ client }, [diary])
      const twice = auditTwice.map(each => `${each} is on record twice`)
      return [...broke, ...label, ...auditLost.map(each => `no record of ${each}`), ...twice]
    },
  }
}
