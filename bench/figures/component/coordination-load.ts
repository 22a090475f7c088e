import { etcdCoordination } from '@lcm/coordination/etcd/coordination'
import { startEtcd } from '@lcm/coordination/testing/etcd-server'
import { reconciliation, silentLogger, success, watch } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { conclude, measured, never, shown } from '../../report/figure-report.ts'

/** 10,000 keys that change at once, and repeated leader elections. */
const KEYS = 10_000
const IN_FLIGHT = 64
const HANDOVERS = 100
const PREFIX = '/lcm/workers/'

const etcd = await startEtcd()
const connect = () =>
  etcdCoordination({ endpoints: etcd.endpoints, clock: systemClock, logger: silentLogger, leaseTtlMs: 15_000 })
const [writer, reader] = [connect(), connect()]

async function burst() {
  const stop = new AbortController()
  const seen = new Set<string>()
  const loop = reconciliation({
    name: 'bench',
    clock: systemClock,
    triggers: [watch({ source: reader.changeKeys.source(PREFIX), parseKey: key => key.slice(PREFIX.length) })],
    reconcile: async key => {
      seen.add(key)
      return success()
    },
  })
  const running = loop.run(stop.signal)
  await systemClock.sleep(300)
  const startMs = systemClock.monotonic()
  let next = 0
  const publish = async () => {
    for (let i = next++; i < KEYS; i = next++) {
      await writer.changeKeys.publish(`${PREFIX}w-${i}`, {
        id: `w-${i}`,
        version: 1,
        updated_at: '2026-01-01T00:00:00.000Z',
      })
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, publish))
  const writtenMs = systemClock.monotonic() - startMs
  while (seen.size < KEYS && systemClock.monotonic() - startMs < 60_000) await systemClock.sleep(5)
  const reconciledMs = systemClock.monotonic() - startMs
  stop.abort()
  await running
  return { writtenMs: Math.round(writtenMs), reconciledMs: Math.round(reconciledMs), lost: KEYS - seen.size }
}

/** New candidates each time, because one that resigned waits before it campaigns again. */
async function churn() {
  const signal = new AbortController().signal
  const startMs = systemClock.monotonic()
  let election = reader.election('churn', 'c-0')
  let epoch = (await election.campaign(signal))?.epoch ?? 0
  let backwards = 0
  for (let i = 1; i <= HANDOVERS; i++) {
    const next = (i % 2 === 0 ? reader : writer).election('churn', `c-${i}`)
    const campaign = next.campaign(signal)
    await election.resign({ forGood: true })
    const leadership = await campaign
    if (!leadership || leadership.epoch <= epoch) backwards++
    epoch = leadership?.epoch ?? epoch
    election = next
  }
  await election.resign({ forGood: true })
  return { perHandoverMs: Number(((systemClock.monotonic() - startMs) / HANDOVERS).toFixed(1)), backwards }
}

const load = await burst()
const elections = await churn()
await Promise.all([writer.close(), reader.close()])
await etcd.close()
conclude({
  bench: 'coordination-load',
  figures: [
    never(`${shown(KEYS)} keys changing at once, ${IN_FLIGHT} writes in flight`, { 'key lost': load.lost }),
    measured(
      'the same, until all are written and until all are reconciled',
      `${load.writtenMs} ms, ${load.reconciledMs} ms`,
    ),
    never(`election churn, ${HANDOVERS} handovers`, { 'epoch that did not grow': elections.backwards }),
    measured('one handover of them', `${elections.perHandoverMs} ms`),
  ],
})
