import { type EtcdCoordination, etcdCoordination } from '@lcm/coordination/etcd/coordination'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { reconciliation, silentLogger, success, watch } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { cdfChart } from '../../report/cdf-chart.ts'
import { conclude, measured, never, p99AtMost, shown, wordsOf } from '../../report/figure-report.ts'
import { quantilesOf } from '../../report/quantiles.ts'

/** An etcd event until its reconcile starts, beyond what a bare watch needs for the same event in the same run. */
const EVENTS = 2_000
const ADDED_P99_MS_MAX = 5
const PREFIX = '/lcm/workers/'

const etcd = await startEtcd()
const connect = (): EtcdCoordination =>
  etcdCoordination({ endpoints: etcd.endpoints, clock: systemClock, logger: silentLogger })
const [writer, reader] = [connect(), connect()]
const stop = new AbortController()
const sent = new Map<string, number>()
const delivered = new Map<string, number>()
const started = new Map<string, number>()

const loop = reconciliation({
  name: 'bench',
  clock: systemClock,
  triggers: [watch({ source: reader.changeKeys.source(PREFIX), parseKey: key => key.slice(PREFIX.length) })],
  reconcile: async key => {
    started.set(key, systemClock.monotonic())
    return success()
  },
})
const running = loop.run(stop.signal)
const raw = (async () => {
  const source = reader.changeKeys.source(PREFIX)
  const { revision } = await source.list(stop.signal)
  for await (const message of source.watch(revision, stop.signal)) {
    if (message.type === 'put') delivered.set(message.key.slice(PREFIX.length), systemClock.monotonic())
  }
})().catch(() => undefined)

await systemClock.sleep(500)
for (let i = 0; i < EVENTS; i++) {
  const id = `w-${i}`
  sent.set(id, systemClock.monotonic())
  await writer.changeKeys.publish(PREFIX + id, { id, version: 1, updated_at: '2026-01-01T00:00:00.000Z' })
  if (i % 10 === 0) await systemClock.sleep(1)
}
await systemClock.sleep(500)
stop.abort()
await Promise.all([running, raw])
await Promise.all([writer.close(), reader.close()])
await etcd.close()

const since = (times: ReadonlyMap<string, number>) =>
  [...sent].flatMap(([id, at]) => (times.has(id) ? [(times.get(id) ?? 0) - at] : []))
const added = [...started].flatMap(([id, at]) =>
  delivered.has(id) ? [Math.max(0, at - (delivered.get(id) ?? 0))] : [],
)
conclude({
  bench: 'watch-to-reconcile',
  figures: [
    p99AtMost(
      'an etcd event to its reconcile, beyond a bare watch of the same event',
      ADDED_P99_MS_MAX,
      quantilesOf(added),
    ),
    measured('the bare watch itself, from the write', wordsOf(quantilesOf(since(delivered)))),
    never(`${shown(EVENTS)} events`, { 'event lost': EVENTS - started.size }),
  ],
  charts: [
    cdfChart('watch-to-reconcile', 'From the write to etcd until …', {
      'a bare watch has it': since(delivered),
      'its reconcile starts': since(started),
    }),
  ],
})
