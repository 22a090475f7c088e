import type { ChangeHint } from '@lcm/coordination/change-keys'
import { silentLogger } from '@lcm/runtime'
import type { ChangesAnswer, PositionedChange } from '@lcm/store/store'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type KeyEvent, type KeyHistory, type KeyView, keyHistory } from '../../testing/fake-change-key-history.ts'
import { changeKeyFeed } from './change-key-feed.ts'

const WORKERS = '/lcm/workers/'
const SEAT = '/lcm/worker-controller/leader'
const CHANGES_KEPT = 4
/** Longer than any read may wait. */
const SETTLE_MS = 3_000

const resourceOfKey = (key: string) =>
  key.startsWith(WORKERS) ? { kind: 'worker', id: key.slice(WORKERS.length) } : null

type Step =
  | { do: 'write'; slots: readonly number[]; what: 'put' | 'remove' | 'seat' | 'elsewhere' }
  | { do: 'show'; replica: number; revisions: number }
  | { do: 'break'; replica: number }
  | { do: 'restart'; replica: number }
  | { do: 'read'; replica: number; limit: number }
  | { do: 'begin'; replica: number }
  | { do: 'ask'; replica: number; pick: number; limit: number }

const replica = fc.nat(1)
const limit = fc.integer({ min: 1, max: 5 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      slots: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 3 }),
      what: fc.constantFrom('put' as const, 'put' as const, 'remove' as const, 'seat' as const, 'elsewhere' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('show' as const), replica, revisions: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('break' as const), replica }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), replica }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const), replica, limit }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('begin' as const), replica }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('ask' as const), replica, pick: fc.nat(1_000), limit }) },
)

interface Replica {
  readonly view: KeyView
  feed: ReturnType<typeof changeKeyFeed>['feed']
  stop: AbortController
}

interface World {
  readonly clock: ManualClock
  readonly history: KeyHistory
  readonly replicas: readonly Replica[]
  /** Four resources at a time; a deleted one is replaced by another. */
  readonly slots: { id: number; version: number }[]
  ids: number
  /** The one reader that switches replicas: its start, its position and the changes it received. */
  begunAt: string
  position: string
  seen: PositionedChange[]
}

function start(clock: ManualClock, view: KeyView) {
  const stop = new AbortController()
  const parts = { source: view, resourceOfKey, clock, log: silentLogger, changesKept: CHANGES_KEPT }
  const { feed, service } = changeKeyFeed(parts)
  void service.run(stop.signal)
  return { feed, stop }
}

function aWorld(): World {
  const clock = manualClock()
  const history = keyHistory()
  const replicas = [history.view(), history.view({ hasVagueSigns: true })].map(view => ({
    view,
    ...start(clock, view),
  }))
  const slots = [0, 1, 2, 3].map(id => ({ id, version: 0 }))
  return { clock, history, replicas, slots, ids: 4, begunAt: '0', position: '0', seen: [] }
}

/** Several keys in one revision, which the port never does but etcd can. */
function write(world: World, { slots, what }: Extract<Step, { do: 'write' }>): void {
  const hint = (version: number): ChangeHint => ({ id: '', version, updated_at: '' })
  const puts: KeyEvent[] = []
  const deletions: KeyEvent[] = []
  if (what === 'seat') puts.push({ type: 'put', key: SEAT, hint: hint(0) })
  if (what === 'put' || what === 'remove') {
    for (const slot of slots.map(index => world.slots[index])) {
      if (slot === undefined) continue
      const key = `${WORKERS}w-${slot.id}`
      slot.version += 1 + (world.history.revision % 2)
      puts.push({ type: 'put', key, hint: { ...hint(slot.version), ...(what === 'remove' ? { deleted: true } : {}) } })
      if (what === 'put') continue
      deletions.push({ type: 'delete', key })
      Object.assign(slot, { id: world.ids, version: 0 })
      world.ids += 1
    }
  }
  world.history.commit(...puts)
  if (deletions.length > 0) world.history.commit(...deletions)
}

/** The contract again, as simply as possible. */
function truthAfter(history: KeyHistory, position: string, upTo: number): PositionedChange[] {
  const newest = new Map<string, number>()
  const truth: PositionedChange[] = []
  let [revision, nth] = [0, 0]
  for (const message of history.messages) {
    if (message.type !== 'put' || message.revision > upTo) continue
    nth = message.revision === revision ? nth + 1 : 1
    revision = message.revision
    const about = resourceOfKey(message.key)
    const { version, deleted = false } = message.hint
    if (about === null || version <= (newest.get(message.key) ?? 0)) continue
    newest.set(message.key, version)
    truth.push({ ...about, version, deleted, position: nth === 1 ? `${revision}` : `${revision}.${nth}` })
  }
  const [after = 0, count = 1] = position.split('.').map(Number)
  const isAfter = (other: string) => {
    const [one = 0, many = 1] = other.split('.').map(Number)
    return one > after || (one === after && many > count)
  }
  return truth.filter(change => isAfter(change.position))
}

/** An answer must be a prefix of the expected changes. A position may be unknown only where it was not shown. */
async function ask(world: World, replica: Replica, position: string, limit: number): Promise<ChangesAnswer> {
  const answering = replica.feed.since(position, limit)
  await world.clock.advance(SETTLE_MS)
  const answer = await answering
  const { shown } = replica.view
  if (!answer.known) expect(Number(position.split('.')[0])).toBeGreaterThan(shown)
  else {
    expect(answer.changes.length).toBeLessThanOrEqual(limit)
    expect(answer.changes).toEqual(truthAfter(world.history, position, shown).slice(0, answer.changes.length))
  }
  return answer
}

async function positionOf({ clock }: World, replica: Replica): Promise<string> {
  const answering = replica.feed.position()
  await clock.advance(SETTLE_MS)
  const position = await answering
  expect(Number(position.split('.')[0])).toBeLessThanOrEqual(replica.view.shown)
  return position
}

async function take(world: World, given: Step): Promise<void> {
  if (given.do === 'write') return write(world, given)
  const replica = world.replicas[given.replica]
  if (replica === undefined) throw new Error('no such replica')
  switch (given.do) {
    case 'show':
      return replica.view.show(Math.min(replica.view.shown + given.revisions, world.history.revision))
    case 'break':
      return replica.view.breakStreams()
    case 'restart':
      replica.stop.abort()
      Object.assign(replica, start(world.clock, replica.view))
      return
    case 'begin':
      world.begunAt = await positionOf(world, replica)
      world.position = world.begunAt
      world.seen = []
      return
    case 'ask': {
      const known = positionsOf(world)
      await ask(world, replica, known[given.pick % known.length] ?? '0', given.limit)
      return
    }
    case 'read': {
      const answer = await ask(world, replica, world.position, given.limit)
      if (!answer.known) return
      world.seen.push(...answer.changes)
      world.position = answer.changes.at(-1)?.position ?? world.position
    }
  }
}

const positionsOf = ({ history }: World): string[] => [
  '0',
  ...truthAfter(history, '0', history.revision).map(change => change.position),
]

/** Once everything is shown, every position gives the same on both. */
async function compareAll(world: World): Promise<void> {
  await world.clock.advance(SETTLE_MS)
  for (const position of positionsOf(world)) {
    const truth = truthAfter(world.history, position, world.history.revision).slice(0, 3)
    for (const replica of world.replicas) {
      expect(await ask(world, replica, position, 3)).toEqual({ known: true, changes: truth })
    }
  }
}

/** Reads to the end, alternating between the replicas. */
async function readToTheEnd(world: World): Promise<void> {
  for (const replica of world.replicas) replica.view.show(world.history.revision)
  const total = truthAfter(world.history, world.begunAt, world.history.revision).length
  for (let n = 0; world.seen.length < total; n += 1) {
    if (n > 2 * total + 2) throw new Error('the reader gets nowhere')
    await take(world, { do: 'read', replica: n % 2, limit: 3 })
  }
}

async function play(steps: readonly Step[]): Promise<World> {
  const world = aWorld()
  await world.clock.advance(0)
  for (const given of steps) {
    await take(world, given)
    await world.clock.advance(0)
  }
  await readToTheEnd(world)
  await compareAll(world)
  for (const { stop } of world.replicas) stop.abort()
  await world.clock.advance(0)
  return world
}

it('delivers every change once and in order to a reader that switches replicas', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async steps => {
      const { history, begunAt, seen, clock } = await play(steps)
      expect(seen).toEqual(truthAfter(history, begunAt, history.revision))
      expect(clock.timersLeft()).toBe(0)
    }),
    { numRuns: 300 },
  )
})
