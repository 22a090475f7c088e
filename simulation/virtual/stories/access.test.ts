import type { Dispatch } from '@lcm/contract/route-spec'
import { RESOURCES } from '@lcm/control-plane/resources'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Document, Kind } from '@lcm/store/store'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { expect, it } from 'vitest'
import type { Act, ActName } from '../acts/act.ts'
import { actContext } from '../acts/act-context.ts'
import { perform } from '../acts/perform.ts'
import { type Defects, openWorld } from '../world/world.ts'

const SECOND_MS = 1_000
const ROUND_MS = 20 * SECOND_MS
const ROUNDS = 8
const ENDS: readonly ActName[] = [
  'replace a token',
  'revoke a person',
  'merge people',
  'change a role',
  'sign out',
  'remove a person',
]

/** People join, use what they have, and lose a part of it. */
function actsOf(seed: number): Act[] {
  const random = seededRandom(seed)
  const act = (name: ActName, atMs: number): Act => ({
    ...{ atMs, act: name, target: random.float(), amount: random.float(), forMs: SECOND_MS },
  })
  const many = (name: ActName, times: number, fromMs: number, withinMs: number) =>
    Array.from({ length: times }, () => act(name, fromMs + random.int(withinMs)))
  const acts = [...many('add a person', 3, 0, 1)]
  for (let round = 1; round <= ROUNDS; round += 1) {
    const startMs = round * ROUND_MS
    const endMs = startMs + 4 * SECOND_MS
    acts.push(
      ...many('add a person', 1, startMs, 1),
      ...many('give a token', 2, startMs + 1, SECOND_MS),
      ...many('make a login link', 2, startMs + 1, SECOND_MS),
      ...many('sign in', 4, startMs + 1_000, 2 * SECOND_MS),
      ...many('use all access', 3, endMs - 1_500, 1_500),
      ...many('sign in', 4, endMs - 50, 1_050),
      ...many('make a login link', 3, endMs - 50, 1_050),
      ...many('book as a person', 3, endMs - 100, 1_100),
      act(ENDS[round % ENDS.length] ?? 'sign out', endMs),
      ...many('sign in', 4, endMs + 2_000, 4 * SECOND_MS),
      ...[2, 6, 8, 12, 15].flatMap(second => many('use all access', 1, endMs + second * SECOND_MS, 1)),
    )
    if (round % 3 === 0) acts.push(...many('send wrong tokens', 2, endMs - 100, 1_000))
    if (round % 2 === 0)
      acts.push({ ...act('kill the API at a call', endMs), amount: random.float() / 10, target: random.float() / 6 })
  }
  return acts.toSorted((a, b) => a.atMs - b.atMs)
}

async function run(seed: number, defects: Defects = {}): Promise<number> {
  const world = await openWorld(seed, { apiReplicas: 3, defects })
  const context = actContext(world, { workers: 1, hours: 1, pace: 'brisk' })
  await context.learner.define()
  const { clock } = world.time
  const startMs = clock.monotonic()
  const pending: Promise<void>[] = []
  for (const act of actsOf(seed)) {
    const ms = startMs + act.atMs - clock.monotonic()
    if (ms > 0) await world.runFor(ms)
    pending.push(perform(context, act))
  }
  await world.runFor(180_000)
  await Promise.all(pending)
  await context.people.check()
  await world.close()
  return world.apis.reduce((sum, { kills }) => sum + kills, 0)
}

it('access works until it ends and no longer, on three replicas that are killed', async () => {
  expect(await run(952)).toBeGreaterThan(2)
})

/** Streams are checked again every three seconds. */
const neverAgain = (clock: Clock): Clock => ({
  ...clock,
  sleep: (ms, signal) => clock.sleep(ms === 3_000 ? 86_400_000 : ms, signal),
})

const changeCollection = (
  name: string,
  change: <T extends Document>(documents: Collection<T>) => Collection<T>,
): Defects => ({
  store: store => ({
    ...store,
    collection<T extends Document>(kind: Kind<T>): Collection<T> {
      const documents = store.collection(kind)
      return kind.name === name ? change(documents) : documents
    },
  }),
})

const foreverCached = changeCollection(
  RESOURCES.browserSessions.name,
  <T extends Document>(documents: Collection<T>) => {
    const known = new Map<string, T | null>()
    return {
      ...documents,
      async get(id: string) {
        const found = known.get(id) ?? (await documents.get(id))
        known.set(id, found)
        return found
      },
      remove: async () => ({ ok: true }),
    }
  },
)

const forgetsSessions = changeCollection(RESOURCES.sessions.name, documents => ({
  ...documents,
  list: async query => (Object.keys(query.where ?? {}).join() === 'owner' ? [] : documents.list(query)),
}))

/** Refuses every secret of an address after 20 wrong ones. */
function throttleFirst(dispatch: Dispatch): Dispatch {
  let wrong = 0
  return async request => {
    if (request.remote !== undefined && wrong >= 20) {
      const problem = { type: '', title: '', status: 429, detail: '', code: 'too_many_attempts', instance: '' }
      return { status: 429, headers: {}, body: JSON.stringify(problem) }
    }
    const response = await dispatch(request)
    if (request.remote !== undefined && response.status === 401) wrong += 1
    return response
  }
}

it.each<[string, Defects, RegExp]>([
  ['a session cache that is never invalidated', foreverCached, /cookie .* was accepted for .* after the logout/],
  ['a merge that forgets sessions', forgetsSessions, /the open session .* who has no record/],
  ['a throttle before the lookup', { api: throttleFirst }, /was refused for .* with too_many_attempts/],
])('finds %s', async (_, defects, rule) => {
  await expect(run(952, defects)).rejects.toThrow(rule)
})

it('finds a stream that is not checked again', async () => {
  await expect(run(952, { apiClock: neverAgain })).rejects.toThrow(/event stream of .* delivered \d+ s after/)
})
