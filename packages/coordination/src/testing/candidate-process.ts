import { type Leadership, type Logger, silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { etcdCoordination } from '../etcd/coordination.ts'

// A process that campaigns and acts while it believes to lead: one line of JSON for each action.
const ACT_EVERY_MS = 5
const [, , endpoint = '', instanceId = '', leaseTtlMs = ''] = process.argv
const tell = (what: object) => process.stdout.write(`${JSON.stringify({ atMs: systemClock.now(), ...what })}\n`)

/** A standby is ready once it watches the leader's process. */
const logger: Logger = {
  ...silentLogger,
  debug: (_, message) => message === "watching the leader's process" && tell({ event: 'watching' }),
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
    // Taken before the check: a process frozen in between reports a time when it did lead.
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
