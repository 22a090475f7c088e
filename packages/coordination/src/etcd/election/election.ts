import { type Election, type LeaderStatus, type Leadership, linkedAbort } from '@lcm/runtime'
import { type Liveness, openLiveness } from '../client/liveness.ts'
import { contend } from './acquire-leadership.ts'
import type { ElectionDeps, Seat } from './candidate.ts'
import { leaderKey } from './leader-key.ts'
import { LeadershipEnded, type Tenure } from './leadership-term.ts'
import { termOver } from './standby.ts'

export interface EtcdElection extends Election {
  close(): Promise<void>
}

export function etcdElection(deps: ElectionDeps, service: string, instanceId: string): EtcdElection {
  const seat: Seat = {
    deps,
    logger: deps.logger.child({ service, instance: instanceId }),
    instanceId,
    key: leaderKey(deps.keyPrefix, service),
    tenure: undefined,
    holder: undefined,
    isCampaigning: false,
    awayUntilMs: Number.NEGATIVE_INFINITY,
    liveness: undefined,
    cleanups: new Set(),
  }
  return {
    instanceId,
    campaign: signal => campaign(seat, signal),
    resign: ({ forGood = false } = {}) => resign(seat, forGood),
    status: () => statusOf(seat),
    async close() {
      await resign(seat, true)
      await (await seat.liveness)?.close()
    },
  }
}

function statusOf({ tenure, holder, isCampaigning, instanceId }: Seat): LeaderStatus {
  if (tenure?.leadership.isHeld())
    return { state: 'LEADER', leader_id: instanceId, term: tenure.leadership.epoch, since: tenure.since }
  return {
    state: isCampaigning ? 'CAMPAIGNING' : 'STANDBY',
    leader_id: holder?.record.instance_id || null,
    term: holder?.epoch ?? null,
    since: holder?.record.since || null,
  }
}

async function campaign(seat: Seat, signal: AbortSignal): Promise<Leadership | null> {
  const { isClosed, livenessHost } = seat.deps
  const until = linkedAbort(signal, isClosed)
  try {
    if (livenessHost !== undefined && !until.signal.aborted) seat.liveness ??= listen(seat, livenessHost)
    return await waitForSeat(seat, until.signal)
  } finally {
    seat.isCampaigning = false
    until.unlink()
  }
}

/** Without the socket nobody judges us by it, and our lease alone says that we live. */
async function listen({ logger, instanceId }: Seat, host: string): Promise<Liveness | undefined> {
  try {
    return await openLiveness(host, instanceId)
  } catch (err) {
    logger.warn({ host, err }, 'liveness socket could not be opened; failover waits for the lease')
    return undefined
  }
}

async function waitForSeat(seat: Seat, signal: AbortSignal): Promise<Leadership | null> {
  const { clock, retryIntervalMs } = seat.deps
  let failures = 0
  while (!signal.aborted) {
    const awayMs = seat.awayUntilMs - clock.monotonic()
    if (awayMs > 0) {
      await clock.sleep(awayMs, signal)
      continue
    }
    try {
      const leadership = await onceMore(seat, signal)
      if (leadership !== null) return leadership
      failures = 0
    } catch (err) {
      // The same every few seconds would bury what else is logged; what is wrong with etcd is in its health.
      if (failures === 0) seat.logger.warn({ err, retryIntervalMs }, 'campaign failed; it is tried again and again')
      failures += 1
      await clock.sleep(retryIntervalMs, signal)
    }
  }
  return null
}

/** One attempt at the seat; when it is taken, the wait for the end of that term. */
async function onceMore(seat: Seat, signal: AbortSignal): Promise<Leadership | null> {
  seat.isCampaigning = true
  const client = await seat.deps.connect()
  const attempt = contend(seat, client)
  const outcome = await orAborted(attempt, signal)
  seat.isCampaigning = false
  if (outcome === undefined) {
    giveBack(seat, attempt)
    return null
  }
  if ('leadership' in outcome) return lead(seat, outcome)
  const { holder, revision } = outcome
  seat.holder = holder
  seat.logger.info({ leader: holder.record.instance_id, term: holder.epoch }, 'standing by')
  await termOver({ seat, client, holder, revision }, signal)
  return null
}

function lead(seat: Seat, tenure: Tenure): Leadership {
  seat.tenure = tenure
  seat.holder = undefined
  seat.logger.info({ term: tenure.leadership.epoch }, 'leading')
  return tenure.leadership
}

/** Nobody waits for the outcome any more, so whatever is still won must not stay taken. */
function giveBack({ cleanups }: Seat, attempt: ReturnType<typeof contend>): void {
  const settle = async () => {
    const outcome = await attempt.catch(() => undefined)
    if (outcome === undefined || !('leadership' in outcome)) return
    outcome.end(resigned())
    await outcome.isReleased
  }
  const cleanup = settle()
  cleanups.add(cleanup)
  void cleanup.finally(() => cleanups.delete(cleanup))
}

const resigned = () => new LeadershipEnded('leader_resigned', 'the leader has resigned')

async function resign(seat: Seat, isForGood: boolean): Promise<void> {
  const { tenure, cleanups } = seat
  if (tenure?.leadership.isHeld() && !isForGood) seat.awayUntilMs = seat.deps.clock.monotonic() + seat.deps.leaseTtlMs
  tenure?.end(resigned())
  await tenure?.isReleased
  await Promise.all(cleanups)
}

/** Undefined when `signal` aborts before the promise settles. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve(undefined)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
