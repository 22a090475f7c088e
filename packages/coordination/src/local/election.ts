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
  /** How long a crashed holder keeps its seat, and how long an instance stays away after it resigned. */
  readonly leaseTtlMs?: number
  readonly logger?: Logger
  /** Called for every change that would be a write to etcd. */
  onWrite(): void
}

export interface LocalElections {
  election(service: string, instanceId: string): Election
  /** The seat is free at once; the holder notices after `noticedAfterMs` and is a zombie until then. */
  loseLease(service: string, options?: { readonly noticedAfterMs?: number }): void
  /** The instance is gone without a word: its seats stay taken for one lease, and it never wins again. */
  crash(instanceId: string): void
}

interface Tenure {
  readonly contender: Contender
  readonly epoch: number
  readonly since: string
  readonly leadership: Leadership
  end(): void
}

interface Seat {
  readonly service: string
  holder: Tenure | undefined
  nextEpoch: number | undefined
  readonly standbys: Set<() => void>
}

interface Contender {
  readonly instanceId: string
  readonly seat: Seat
  isCampaigning: boolean
  isCrashed: boolean
  awayUntil: number
}

interface Elections {
  readonly options: LocalElectionOptions
  readonly leaseTtlMs: number
  readonly seats: Map<string, Seat>
  readonly contenders: Set<Contender>
}

export function localElections(options: LocalElectionOptions): LocalElections {
  const leaseTtlMs = options.leaseTtlMs ?? LEADER_ELECTION_DEFAULTS.leaseTtlMs
  const elections: Elections = { options, leaseTtlMs, seats: new Map(), contenders: new Set() }
  return {
    election: (service, instanceId) => openElection(elections, service, instanceId),
    loseLease: (service, { noticedAfterMs = 0 } = {}) => loseLease(elections, service, noticedAfterMs),
    crash: instanceId => crash(elections, instanceId),
  }
}

function openElection(elections: Elections, service: string, instanceId: string): Election {
  const seat = elections.seats.get(service) ?? newSeat(elections, service)
  const contender: Contender = { instanceId, seat, isCampaigning: false, isCrashed: false, awayUntil: 0 }
  elections.contenders.add(contender)
  return {
    instanceId,
    campaign: signal => campaign(elections, contender, signal),
    resign: async ({ forGood = false } = {}) => resign(elections, contender, forGood),
    status: () => ({
      state: seat.holder?.contender === contender ? 'LEADER' : contender.isCampaigning ? 'CAMPAIGNING' : 'STANDBY',
      leader_id: seat.holder?.contender.instanceId ?? null,
      term: seat.holder?.epoch ?? null,
      since: seat.holder?.since ?? null,
    }),
  }
}

function newSeat({ seats }: Elections, service: string): Seat {
  const seat: Seat = { service, holder: undefined, nextEpoch: undefined, standbys: new Set() }
  seats.set(service, seat)
  return seat
}

/** The seat is taken in the same breath in which it is found free, so what is returned has not been lost yet. */
async function campaign(elections: Elections, contender: Contender, signal: AbortSignal): Promise<Leadership | null> {
  const { clock } = elections.options
  while (!signal.aborted) {
    const awayMs = contender.awayUntil - clock.monotonic()
    if (awayMs > 0) await clock.sleep(awayMs, signal)
    else if (contender.isCrashed || contender.seat.holder) await vacancy(contender.seat, signal)
    else if (contender.seat.nextEpoch === undefined) await learnFirstEpoch(elections, contender, signal)
    else return take(elections, contender, contender.seat.nextEpoch)
  }
  return null
}

async function learnFirstEpoch(elections: Elections, contender: Contender, signal: AbortSignal): Promise<void> {
  const { options } = elections
  contender.isCampaigning = true
  try {
    const epoch = await options.firstEpoch(contender.seat.service)
    contender.seat.nextEpoch ??= epoch
  } catch (err) {
    // Nobody leads by guess: without the last term the next epoch could be too low.
    options.logger?.warn({ service: contender.seat.service, err }, 'first epoch is unknown')
    await options.clock.sleep(LEADER_ELECTION_DEFAULTS.retryIntervalMs, signal)
  } finally {
    contender.isCampaigning = false
  }
}

function take({ options }: Elections, contender: Contender, epoch: number): Leadership {
  const lease = linkedAbort()
  let isHeld = true
  const leadership: Leadership = { epoch, signal: lease.signal, isHeld: () => isHeld }
  const end = () => {
    isHeld = false
    lease.abort(new Error('leadership ended'))
  }
  const since = new Date(options.clock.now()).toISOString()
  contender.seat.holder = { contender, epoch, since, leadership, end }
  contender.seat.nextEpoch = epoch + 1
  options.onWrite()
  return leadership
}

function resign(elections: Elections, contender: Contender, isForGood: boolean): void {
  const { holder } = contender.seat
  if (holder?.contender !== contender || contender.isCrashed) return
  if (!isForGood) contender.awayUntil = elections.options.clock.monotonic() + elections.leaseTtlMs
  holder.end()
  vacate(elections, contender.seat)
}

function vacate({ options }: Elections, seat: Seat): void {
  seat.holder = undefined
  options.onWrite()
  for (const wake of [...seat.standbys]) wake()
}

/** Resolves when the seat may have become free, or with the signal. */
function vacancy(seat: Seat, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const wake = () => {
      seat.standbys.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    seat.standbys.add(wake)
    signal.addEventListener('abort', wake)
  })
}

function loseLease(elections: Elections, service: string, noticedAfterMs: number): void {
  const seat = elections.seats.get(service)
  const holder = seat?.holder
  if (seat === undefined || holder === undefined) return
  if (noticedAfterMs > 0) elections.options.clock.after(noticedAfterMs, holder.end)
  else holder.end()
  vacate(elections, seat)
}

function crash(elections: Elections, instanceId: string): void {
  for (const contender of elections.contenders) {
    if (contender.instanceId !== instanceId) continue
    contender.isCrashed = true
    elections.contenders.delete(contender)
    const { seat } = contender
    const { holder } = seat
    if (holder?.contender !== contender) continue
    holder.end()
    elections.options.clock.after(elections.leaseTtlMs, () => {
      if (seat.holder === holder) vacate(elections, seat)
    })
  }
}
