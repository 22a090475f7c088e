import { type Reconciliation, reconciliation, success, type WatchMessage, watch } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { type VirtualTime, virtualTime } from '@lcm/testkit/virtual-time'
import { describe, expect, it } from 'vitest'
import type { ChangeHint } from '../change-keys.ts'
import { localCoordination } from './coordination.ts'

const aHint = (id: string, version: number): ChangeHint => ({ id, version, updated_at: '2026-01-01T00:00:00Z' })

function watched() {
  const clock = manualClock()
  const stop = new AbortController()
  const { changeKeys, faults } = localCoordination({ clock, firstEpoch: () => 1 })
  const seen: { at: number; message: WatchMessage<ChangeHint> }[] = []
  const state = { error: undefined as unknown }
  const read = async () => {
    for await (const message of changeKeys.source('/lcm/').watch(0, stop.signal)) {
      seen.push({ at: clock.monotonic(), message })
    }
  }
  void read().catch(error => {
    state.error = error
  })
  const changes = () =>
    seen.flatMap(({ at, message }) => (message.type === 'put' ? [`${at} v${message.hint.version}`] : []))
  const publish = (version: number) => changeKeys.publish('/lcm/workers/w-1', aHint('w-1', version))
  return { clock, stop, changeKeys, faults, seen, state, changes, publish }
}

describe('faults', () => {
  it('delay changes without letting one overtake another', async () => {
    const { clock, faults, publish, changes } = watched()
    await clock.advance(1_000)
    const delays = [300, 100, 0]
    faults.setDelivery(() => ({ delayMs: delays.shift() ?? 0 }))
    for (const version of [1, 2, 3]) await publish(version)
    await clock.advance(299)
    expect(changes()).toEqual([])
    await clock.advance(1)
    expect(changes()).toEqual(['1300 v1', '1300 v2', '1300 v3'])
  })

  it('drop and duplicate changes', async () => {
    const { clock, faults, publish, changes } = watched()
    const copies = [0, 2, 1]
    faults.setDelivery(() => ({ copies: copies.shift() ?? 1 }))
    for (const version of [1, 2, 3]) await publish(version)
    await clock.advance(0)
    expect(changes()).toEqual(['0 v2', '0 v2', '0 v3'])
    faults.setDelivery(undefined)
    await publish(4)
    await clock.advance(0)
    expect(changes().at(-1)).toBe('0 v4')
  })

  it('break streams', async () => {
    const { clock, faults, state } = watched()
    await clock.advance(0)
    faults.breakStreams()
    await clock.advance(0)
    expect(String(state.error)).toBe('Error: the stream broke')
  })

  it('freeze streams: no change and no progress until they thaw', async () => {
    const { clock, faults, publish, seen, changes } = watched()
    await clock.advance(0)
    faults.freezeStreams(true)
    await publish(1)
    await clock.advance(60_000)
    expect(seen).toHaveLength(1)
    faults.freezeStreams(false)
    await clock.advance(0)
    expect(changes()).toEqual(['60000 v1'])
  })
})

it('has few timers while it is watched, and none for a watch that has ended', async () => {
  const { clock, stop, faults, publish } = watched()
  await clock.advance(0)
  const offered: number[] = []
  faults.setDelivery(({ revision }) => {
    offered.push(revision)
    return { delayMs: 60_000 }
  })
  for (const version of [1, 2, 3]) await publish(version)
  expect(clock.timersLeft()).toBe(2)
  stop.abort()
  await clock.advance(0)
  expect(clock.timersLeft()).toBe(0)
  await publish(4)
  expect(offered).toEqual([1, 2, 3])
})

it('expires a removed key after ten minutes, unless it was set again', async () => {
  const { clock, changeKeys, seen } = watched()
  const KEYS = ['/lcm/workers/w-1', '/lcm/workers/w-2'] as const
  await changeKeys.publish(KEYS[0], aHint('w-1', 1))
  await changeKeys.remove(KEYS[0], 2)
  await changeKeys.remove(KEYS[1], 2)
  await changeKeys.publish(KEYS[1], aHint('w-2', 3))
  const deletions = () => seen.flatMap(({ message }) => (message.type === 'delete' ? [message.key] : []))
  await clock.advance(10 * 60_000 - 1)
  expect(await changeKeys.publish(KEYS[0], aHint('w-1', 2))).toBe(false)
  await clock.advance(1)
  await changeKeys.publish('/lcm/workers/w-3', aHint('w-3', 1))
  await clock.advance(0)
  expect(deletions()).toEqual([KEYS[0]])
  const { entries, revision } = await changeKeys.source('/lcm/').list(new AbortController().signal)
  expect(entries.map(({ hint: { id, version } }) => `${id} v${version}`)).toEqual(['w-2 v3', 'w-3 v1'])
  expect(revision).toBe(6)
})

it('keeps a bounded history: readers that missed more list again', async () => {
  const { changeKeys } = watched()
  for (let version = 1; version <= 2_001; version += 1) {
    await changeKeys.publish('/lcm/workers/w-1', aHint('w-1', version))
  }
  const firstAfter = async (revision: number) => {
    for await (const message of changeKeys.source('/lcm/').watch(revision, new AbortController().signal)) return message
    return undefined
  }
  await expect(firstAfter(1_000)).rejects.toMatchObject({ code: 'watch_compacted' })
  expect(await firstAfter(1_001)).toEqual({ type: 'progress', revision: 1_001 })
})

/** A loop that watches the keys and records, per key, the newest version at its last reconciliation. */
function aWatcher(time: VirtualTime, coordination: ReturnType<typeof localCoordination>, newest: Map<string, number>) {
  const reconciled = new Map<string, number>()
  const loop: Reconciliation = reconciliation({
    name: 'watcher',
    clock: time.clock,
    triggers: [watch({ source: coordination.changeKeys.source('/lcm/'), parseKey: key => key, isUrgent: () => true })],
    reconcile: async key => {
      const version = newest.get(key)
      await time.clock.sleep(time.random.int(300))
      if (version !== undefined) reconciled.set(key, version)
      return success()
    },
  })
  return { loop, reconciled }
}

async function storm(seed: number): Promise<void> {
  const time = virtualTime(seed)
  const { clock, random } = time
  const coordination = localCoordination({ clock, firstEpoch: () => 1 })
  const { changeKeys, faults } = coordination
  const newest = new Map<string, number>()
  const { loop, reconciled } = aWatcher(time, coordination, newest)
  const stop = new AbortController()
  const over = loop.run(stop.signal)
  faults.setDelivery(() => ({ delayMs: random.int(400), copies: 1 + random.int(2) }))
  const mischief = [
    faults.breakStreams,
    faults.compact,
    () => faults.freezeStreams(true),
    () => faults.freezeStreams(false),
  ]
  for (let step = 0; step < 60; step += 1) {
    const key = `/lcm/workers/w-${random.int(5)}`
    newest.set(key, step)
    await changeKeys.publish(key, aHint(key, step))
    if (random.float() < 0.3) mischief[random.int(mischief.length)]?.()
    await time.runFor(random.int(1_500))
  }
  faults.freezeStreams(false)
  await time.runFor(30_000)
  expect({ seed, reconciled: [...reconciled].sort() }).toEqual({ seed, reconciled: [...newest].sort() })
  stop.abort()
  await Promise.all([over, time.runFor(1_000)])
}

it('leaves no watcher behind, however streams break, stall, lag and lose their history', async () => {
  for (let seed = 1; seed <= 60; seed += 1) await storm(seed)
})
