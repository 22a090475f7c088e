import { randomUUID } from 'node:crypto'
import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import { systemClock } from '@lcm/runtime/clock'
import { z } from 'zod'

const WRITE_EVERY_MS = 50
const Labeled = z.object({ labels: z.object({ n: z.string() }) })

/** Writes one label after the other to a worker, each until it is acknowledged. */
export interface Writer {
  readonly acknowledged: number
  /** Stops, and returns acknowledged labels that are missing in the worker, or not exactly once in the audit. */
  stop(): Promise<readonly string[]>
}

export function startWriter(client: Client, id: string): Writer {
  const stopping = new AbortController()
  // Other writers may have written to the same worker before.
  const name = randomUUID().slice(0, 8)
  const acknowledged: string[] = []
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      const label = `${name}-${acknowledged.length + 1}`
      await client.call('patchWorker', { params: { id }, body: { labels: { n: label } } })
      acknowledged.push(label)
      await systemClock.sleep(WRITE_EVERY_MS, stopping.signal)
    }
  })()
  // `stop` reports the error.
  ended.catch(() => undefined)
  return {
    get acknowledged() {
      return acknowledged.length
    },
    async stop() {
      stopping.abort()
      const broke = await ended.then(
        () => [],
        (error: Error) => [`the writer gave up: ${error.message}`],
      )
      const { labels } = await client.call('getWorker', { params: { id } })
      const last = acknowledged.at(-1)
      const label = labels.n === last ? [] : [`${id} has the label ${labels.n} instead of ${last}`]
      return [...broke, ...label, ...(await offRecord(client, id, acknowledged))]
    },
  }
}

/** Compares labels, not versions: a repeated request returns the version of the last writer. */
async function offRecord(client: Client, id: string, labels: readonly string[]): Promise<readonly string[]> {
  const { items } = await readList(page =>
    client.call('listAudit', { query: { ...page, resource: `worker:${id}`, scaling: false } }),
  )
  const times = new Map<string, number>()
  for (const { after } of items) {
    const { data } = Labeled.safeParse(after)
    if (data !== undefined) times.set(data.labels.n, (times.get(data.labels.n) ?? 0) + 1)
  }
  return labels.flatMap(label => {
    const count = times.get(label) ?? 0
    return count === 1 ? [] : [`${label} is in the audit ${count} times`]
  })
}
