import { getEventListeners } from 'node:events'
import { leaderElected, type ReconcileContext, reconciliation, requeue, startupSweep } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { virtualTime } from '@lcm/testkit/virtual-time'
import { expect, it } from 'vitest'
import { localCoordination } from './coordination.ts'

const SERVICE = 'worker-controller'
const never = () => new AbortController().signal

function anElection(firstEpoch: (service: string) => number | Promise<number> = () => 1) {
  const clock = manualClock()
  const logger = recordingLogger()
  const { election, faults } = localCoordination({ clock, firstEpoch, logger })
  return { clock, logger, faults, contender: (instanceId: string) => election(SERVICE, instanceId), election }
}

it('starts each service with the given first epoch', async () => {
  const { election } = anElection(service => (service === SERVICE ? 42 : 7))
  const [one, other] = [election(SERVICE, 'a'), election('resource-scheduler', 'a')]
  expect((await one.campaign(never()))?.epoch).toBe(42)
  expect((await other.campaign(never()))?.epoch).toBe(7)
  await one.resign({ forGood: true })
  expect((await one.campaign(never()))?.epoch).toBe(43)
})

it('has no leader while the first epoch is unknown, and logs why', async () => {
  let failures = 2
  const { clock, contender, logger } = anElection(async () => {
    if (failures > 0) {
      failures -= 1
      throw new Error('the store is closed')
    }
    return 5
  })
  const a = contender('a')
  const won = a.campaign(never())
  await clock.advance(9_999)
  expect(a.status().state).toBe('CAMPAIGNING')
  await clock.advance(1)
  expect((await won)?.epoch).toBe(5)
  expect(logger.messages('warn')).toEqual(['first epoch is unknown', 'first epoch is unknown'])
})

it('can lose a lease: the leader knows at once and another leads with a higher epoch', async () => {
  const { contender, faults } = anElection()
  const first = await contender('a').campaign(never())
  const waiting = contender('b').campaign(never())
  faults.loseLease(SERVICE)
  expect([first?.isHeld(), first?.signal.aborted]).toEqual([false, true])
  expect((await waiting)?.epoch).toBe(2)
})

it('can make a zombie that notices late', async () => {
  const { clock, contender, faults } = anElection()
  const first = await contender('a').campaign(never())
  const waiting = contender('b').campaign(never())
  faults.loseLease(SERVICE, { noticedAfterMs: 3_000 })
  expect((await waiting)?.isHeld()).toBe(true)
  await clock.advance(2_999)
  expect(first?.isHeld()).toBe(true)
  await clock.advance(1)
  expect([first?.isHeld(), first?.signal.aborted]).toEqual([false, true])
})

it('leaves no listener on the signal of a campaign that had to wait', async () => {
  const { contender, faults } = anElection()
  await contender('a').campaign(never())
  const { signal } = new AbortController()
  const waiting = contender('b').campaign(signal)
  faults.loseLease(SERVICE)
  await waiting
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('ignores a lost lease without a leader', () => {
  const { faults, contender } = anElection()
  faults.loseLease(SERVICE)
  contender('a')
  faults.loseLease(SERVICE)
})

it('keeps the slot of a crashed instance for one lease, whatever its remains do', async () => {
  const { clock, contender, faults } = anElection()
  const a = contender('a')
  const first = await a.campaign(never())
  let hasWon = false
  void contender('b')
    .campaign(never())
    .then(() => {
      hasWon = true
    })
  faults.crash('a')
  expect(first?.signal.aborted).toBe(true)
  await a.resign({ forGood: true })
  await clock.advance(14_999)
  expect(hasWon).toBe(false)
  await clock.advance(1)
  expect(hasWon).toBe(true)
})

it('lets a crashed instance win nothing any more, except after a restart with the same id', async () => {
  const { clock, contender, faults } = anElection()
  const dead = contender('a')
  faults.crash('a')
  let result: unknown = 'waiting'
  const stop = new AbortController()
  void dead.campaign(stop.signal).then(leadership => {
    result = leadership
  })
  await clock.advance(60_000)
  expect(result).toBe('waiting')
  expect((await contender('a').campaign(never()))?.isHeld()).toBe(true)
  stop.abort()
  await clock.advance(0)
  expect(result).toBeNull()
})

const KEYS = ['w-1', 'w-2', 'w-3']

/** Three instances of one controller under random lease losses and resignations; records what each term reconciled. */
async function turmoil(seed: number) {
  const { clock, random, runFor } = virtualTime(seed)
  const { election, faults } = localCoordination({ clock, firstEpoch: () => 1 })
  const inFlight = new Set<AbortSignal>()
  const reconciled = new Map<number, Set<string>>()
  const clashes: string[] = []
  const reconcile = async (key: string, { epoch, signal, leadership }: ReconcileContext) => {
    const others = [...inFlight].filter(other => other !== signal && !other.aborted)
    if (others.length > 0 || !leadership.isHeld()) clashes.push(`${key} in term ${epoch}`)
    inFlight.add(signal)
    reconciled.set(epoch, (reconciled.get(epoch) ?? new Set()).add(key))
    await clock.sleep(random.int(2_000), signal)
    return requeue('check again', 500)
  }
  const list = async function* () {
    yield KEYS
  }
  const elections = ['a', 'b', 'c'].map(id => election(SERVICE, id))
  const triggers = [startupSweep({ list, keyOf: key => key })]
  const stop = new AbortController()
  const running = elections.map(seat =>
    leaderElected(reconciliation({ name: seat.instanceId, clock, triggers, reconcile }), seat).run(stop.signal),
  )
  for (let step = 0; step < 20; step += 1) {
    await runFor(5_000 + random.int(5_000))
    if (random.float() < 0.5) faults.loseLease(SERVICE)
    else await elections[random.int(3)]?.resign()
  }
  stop.abort()
  await Promise.all([...running, runFor(20_000)])
  return { clashes, terms: [...reconciled.keys()], complete: [...reconciled.values()].every(keys => keys.size === 3) }
}

it('has one active instance at a time, and each term reconciles everything again', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { clashes, terms, complete } = await turmoil(seed)
    expect({ seed, clashes, complete }).toEqual({ seed, clashes: [], complete: true })
    expect(terms.length).toBeGreaterThan(5)
    expect(terms).toEqual([...terms].sort((one, other) => one - other))
  }
})
