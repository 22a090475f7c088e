import { type Election, type LeaderStatus, type Leadership, linkedAbort } from '@lcm/runtime'
import { acquireLeadership } from './acquire-leadership.ts'
import type { Candidate, ElectionDeps, LeadershipTerm } from './candidate.ts'
import { leaderKey } from './leader-key.ts'
import { LeadershipEnded } from './leadership-term.ts'
import { type LivenessServer, openLivenessServer } from './liveness-server.ts'
import { waitForTermEnd } from './wait-for-term-end.ts'

export interface EtcdElection extends Election {
  close(): Promise<void>
}

export function etcdElection(deps: ElectionDeps, service: string, instanceId: string): EtcdElection {
  const candidate: Candidate = {
    deps,
    logger: deps.logger.child({ service, instance: instanceId }),
    instanceId,
    key: leaderKey(deps.keyPrefix, service),
    term: undefined,
    leader: undefined,
    isCampaigning: false,
    resignedUntilMs: Number.NEGATIVE_INFINITY,
    liveness: undefined,
    cleanups: new Set(),
  }
  return {
    instanceId,
    campaign: signal => campaign(candidate, signal),
    resign: ({ forGood = false } = {}) => resign(candidate, forGood),
    status: () => statusOf(candidate),
    async close() {
      await resign(candidate, true)
      await (await candidate.liveness)?.close()
    },
  }
}

function statusOf({ term, leader, isCampaigning, instanceId }: Candidate): LeaderStatus {
  if (term?.leadership.isHeld())
    return { state: 'LEADER', leader_id: instanceId, term: term.leadership.epoch, since: term.since }
  return {
    state: isCampaigning ? 'CAMPAIGNING' : 'STANDBY',
    leader_id: leader?.record.instance_id || null,
    term: leader?.epoch ?? null,
    since: leader?.record.since || null,
  }
}

async function campaign(candidate: Candidate, signal: AbortSignal): Promise<Leadership | null> {
  const { isClosed, livenessHost } = candidate.deps
  const until = linkedAbort(signal, isClosed)
  try {
    if (livenessHost !== undefined && !until.signal.aborted) candidate.liveness ??= listen(candidate, livenessHost)
    return await waitForLeadership(candidate, until.signal)
  } finally {
    candidate.isCampaigning = false
    until.unlink()
  }
}

/** Without the socket only our lease proves that we are alive. */
async function listen({ logger, instanceId }: Candidate, host: string): Promise<LivenessServer | undefined> {
  try {
    return await openLivenessServer(host, instanceId)
  } catch (err) {
    logger.warn({ host, err }, 'liveness socket could not be opened; failover waits for the lease')
    return undefined
  }
}

async function waitForLeadership(candidate: Candidate, signal: AbortSignal): Promise<Leadership | null> {
  const { clock, retryIntervalMs } = candidate.deps
  let failures = 0
  while (!signal.aborted) {
    const awayMs = candidate.resignedUntilMs - clock.monotonic()
    if (awayMs > 0) {
      await clock.sleep(awayMs, signal)
      continue
    }
    try {
      const leadership = await campaignOnce(candidate, signal)
      if (leadership !== null) return leadership
      failures = 0
    } catch (err) {
      // Repeating it every few seconds would flood the log; etcd's health has the details.
      if (failures === 0) candidate.logger.warn({ err, retryIntervalMs }, 'campaign failed; retrying')
      failures += 1
      await clock.sleep(retryIntervalMs, signal)
    }
  }
  return null
}

/** One attempt to lead; if another instance leads, waits for the end of its term. */
async function campaignOnce(candidate: Candidate, signal: AbortSignal): Promise<Leadership | null> {
  candidate.isCampaigning = true
  const client = await candidate.deps.connect()
  const attempt = acquireLeadership(candidate, client)
  const outcome = await orAborted(attempt, signal)
  candidate.isCampaigning = false
  if (outcome === undefined) {
    releaseIfWon(candidate, attempt)
    return null
  }
  if ('leadership' in outcome) return lead(candidate, outcome)
  const { leader, revision } = outcome
  candidate.leader = leader
  candidate.logger.info({ leader: leader.record.instance_id, term: leader.epoch }, 'standing by')
  await waitForTermEnd({ candidate, client, leader, revision }, signal)
  return null
}

function lead(candidate: Candidate, term: LeadershipTerm): Leadership {
  candidate.term = term
  candidate.leader = undefined
  candidate.logger.info({ term: term.leadership.epoch }, 'leading')
  return term.leadership
}

/** The campaign was aborted, so a leadership that is still won must be released. */
function releaseIfWon({ cleanups }: Candidate, attempt: ReturnType<typeof acquireLeadership>): void {
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

async function resign(candidate: Candidate, isForGood: boolean): Promise<void> {
  const { term, cleanups } = candidate
  if (term?.leadership.isHeld() && !isForGood)
    candidate.resignedUntilMs = candidate.deps.clock.monotonic() + candidate.deps.leaseTtlMs
  term?.end(resigned())
  await term?.isReleased
  await Promise.all(cleanups)
}

/** Returns undefined when `signal` aborts before the promise settles. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve(undefined)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
