import {
  type Clock,
  type Election,
  LEADER_ELECTION_DEFAULTS,
  type Leadership,
  type Logger,
  linkedAbort,
} from '@lcm/runtime'

export interface LocalElectionOptions {
  readonly clock: Clock
  /** One more than the highest term ever registered for the service, so that epochs grow over restarts. */
  firstEpoch(service: string): number | Promise<number>
  /** How long a crashed leader keeps its slot, and how long an instance stays away after it resigned. */
  readonly leaseTtlMs?: number
  readonly logger?: Logger
  /** Called for every change that would be a write to etcd. */
  onWrite(): void
}

export interface LocalElections {
  election(service: string, instanceId: string): Election
  /** Frees the slot at once; the leader notices after `noticedAfterMs` and is a zombie until then. */
  loseLease(service: string, options?: { readonly noticedAfterMs?: number }): void
  /** The instance crashes: its slots stay taken for one lease, and it never wins again. */
  crash(instanceId: string): void
}

interface Term {
  readonly candidate: Candidate
  readonly epoch: number
  readonly since: string
  readonly leadership: Leadership
  end(): void
}

interface LeaderSlot {
  readonly service: string
  holder: Term | undefined
  nextEpoch: number | undefined
  readonly standbys: Set<() => void>
}

interface Candidate {
  readonly instanceId: string
  readonly slot: LeaderSlot
  isCampaigning: boolean
  isCrashed: boolean
  resignedUntil: number
}

interface Elections {
  readonly options: LocalElectionOptions
  readonly leaseTtlMs: number
  readonly slots: Map<string, LeaderSlot>
  readonly candidates: Set<Candidate>
}

export function localElections(options: LocalElectionOptions): LocalElections {
  const leaseTtlMs = options.leaseTtlMs ?? LEADER_ELECTION_DEFAULTS.leaseTtlMs
  const elections: Elections = { options, leaseTtlMs, slots: new Map(), candidates: new Set() }
  return {
    election: (service, instanceId) => openElection(elections, service, instanceId),
    loseLease: (service, { noticedAfterMs = 0 } = {}) => loseLease(elections, service, noticedAfterMs),
    crash: instanceId => crash(elections, instanceId),
  }
}

function openElection(elections: Elections, service: string, instanceId: string): Election {
  const slot = elections.slots.get(service) ?? newSlot(elections, service)
  const candidate: Candidate = { instanceId, slot, isCampaigning: false, isCrashed: false, resignedUntil: 0 }
  elections.candidates.add(candidate)
  return {
    instanceId,
    campaign: signal => campaign(elections, candidate, signal),
    resign: async ({ forGood = false } = {}) => resign(elections, candidate, forGood),
    status: () => ({
      state: slot.holder?.candidate === candidate ? 'LEADER' : candidate.isCampaigning ? 'CAMPAIGNING' : 'STANDBY',
      leader_id: slot.holder?.candidate.instanceId ?? null,
      term: slot.holder?.epoch ?? null,
      since: slot.holder?.since ?? null,
    }),
  }
}

function newSlot({ slots }: Elections, service: string): LeaderSlot {
  const slot: LeaderSlot = { service, holder: undefined, nextEpoch: undefined, standbys: new Set() }
  slots.set(service, slot)
  return slot
}

/** Takes a free slot synchronously, so the returned leadership has not been lost yet. */
async function campaign(elections: Elections, candidate: Candidate, signal: AbortSignal): Promise<Leadership | null> {
  const { clock } = elections.options
  while (!signal.aborted) {
    const awayMs = candidate.resignedUntil - clock.monotonic()
    if (awayMs > 0) await clock.sleep(awayMs, signal)
    else if (candidate.isCrashed || candidate.slot.holder) await vacancy(candidate.slot, signal)
    else if (candidate.slot.nextEpoch === undefined) await loadFirstEpoch(elections, candidate, signal)
    else return take(elections, candidate, candidate.slot.nextEpoch)
  }
  return null
}

async function loadFirstEpoch(elections: Elections, candidate: Candidate, signal: AbortSignal): Promise<void> {
  const { options } = elections
  candidate.isCampaigning = true
  try {
    const epoch = await options.firstEpoch(candidate.slot.service)
    candidate.slot.nextEpoch ??= epoch
  } catch (err) {
    // Never guess: without the last term the next epoch could be too low.
    options.logger?.warn({ service: candidate.slot.service, err }, 'first epoch is unknown')
    await options.clock.sleep(LEADER_ELECTION_DEFAULTS.retryIntervalMs, signal)
  } finally {
    candidate.isCampaigning = false
  }
}

function take({ options }: Elections, candidate: Candidate, epoch: number): Leadership {
  const lease = linkedAbort()
  let isHeld = true
  const leadership: Leadership = { epoch, signal: lease.signal, isHeld: () => isHeld }
  const end = () => {
    isHeld = false
    lease.abort(new Error('leadership ended'))
  }
  const since = new Date(options.clock.now()).toISOString()
  candidate.slot.holder = { candidate, epoch, since, leadership, end }
  candidate.slot.nextEpoch = epoch + 1
  options.onWrite()
  return leadership
}

function resign(elections: Elections, candidate: Candidate, isForGood: boolean): void {
  const { holder } = candidate.slot
  if (holder?.candidate !== candidate || candidate.isCrashed) return
  if (!isForGood) candidate.resignedUntil = elections.options.clock.monotonic() + elections.leaseTtlMs
  holder.end()
  vacate(elections, candidate.slot)
}

function vacate({ options }: Elections, slot: LeaderSlot): void {
  slot.holder = undefined
  options.onWrite()
  for (const wake of [...slot.standbys]) wake()
}

/** Resolves when the slot may have become free, or with the signal. */
function vacancy(slot: LeaderSlot, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const wake = () => {
      slot.standbys.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    slot.standbys.add(wake)
    signal.addEventListener('abort', wake)
  })
}

function loseLease(elections: Elections, service: string, noticedAfterMs: number): void {
  const slot = elections.slots.get(service)
  const holder = slot?.holder
  if (slot === undefined || holder === undefined) return
  if (noticedAfterMs > 0) elections.options.clock.after(noticedAfterMs, holder.end)
  else holder.end()
  vacate(elections, slot)
}

function crash(elections: Elections, instanceId: string): void {
  for (const candidate of elections.candidates) {
    if (candidate.instanceId !== instanceId) continue
    candidate.isCrashed = true
    elections.candidates.delete(candidate)
    const { slot } = candidate
    const { holder } = slot
    if (holder?.candidate !== candidate) continue
    holder.end()
    elections.options.clock.after(elections.leaseTtlMs, () => {
      if (slot.holder === holder) vacate(elections, slot)
    })
  }
}
