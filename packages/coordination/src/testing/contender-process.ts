import { type Leadership, type Logger, silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { etcdCoordination } from '../etcd/coordination.ts'

// A process that wants the seat and, while it believes to have it, acts on it: one line of JSON for each thing it does.
const ACT_EVERY_MS = 5
const [, , endpoint = '', instanceId = '', leaseTtlMs = ''] = process.argv
const tell = (what: object) => process.stdout.write(`${JSON.stringify({ atMs: systemClock.now(), ...what })}\n`)

/** Standing by is of use once the process of the leader is watched. */
const logger: Logger = {
  ...silentLogger,
  debug: (_, message) => message === 'the process of the leader is watched' && tell({ event: 'watching' }),
  child: () => logger,
}
const coordination = etcdCoordination({
  endpoints: [endpoint],
  clock: systemClock,
  logger,
  leaseTtlMs: Number(leaseTtlMs),
  liveness: { host: '127.0.0.1' },
})
const election = coordination.election('worker-controller', instanceId)
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

async function actUntilLost({ epoch, signal, isHeld }: Leadership): Promise<void> {
  while (!signal.aborted && !stop.signal.aborted) {
    // As of before it asked: whoever is frozen between asking and telling tells of a time when it did lead.
    const atMs = systemClock.now()
    if (isHeld()) tell({ event: 'acted', epoch, atMs })
    await systemClock.sleep(ACT_EVERY_MS)
  }
}

tell({ event: 'begun' })
while (!stop.signal.aborted) {
  const leadership = await election.campaign(stop.signal)
  if (leadership === null) break
  tell({ event: 'leading', epoch: leadership.epoch })
  await actUntilLost(leadership)
  if (leadership.signal.aborted) tell({ event: 'lost', epoch: leadership.epoch })
}
await coordination.close()
tell({ event: 'ended' })
