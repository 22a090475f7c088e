import { MINUTE_MS } from '../world/durations.ts'
import { openWorld } from '../world/world.ts'
import type { Path } from './worker-crash-paths.ts'

const FROZEN_MS = 90_000

export interface ZombieEffects {
  readonly mutations: readonly string[]
  readonly writes: readonly string[]
}

/**
 * Freezes a controller with a pending response until it has lost its lease and another has taken over. Returns its changes after
 * that.
 */
export async function runZombie(path: Path, seed: number, call: number): Promise<ZombieEffects> {
  const world = await openWorld(seed, path.options)
  const zombie = world.startWorkerController('zombie')
  world.startWorkerController('two')
  let lostMs = Number.POSITIVE_INFINITY
  let isAwake = false
  world.calls.crashAt(call, 'after', () => {
    lostMs = world.time.clock.now()
    zombie.freeze()
    world.coordination.faults.loseLease('worker-controller')
    world.time.clock.after(FROZEN_MS, () => {
      world.time.trace('zombie thawed')
      zombie.thaw()
      isAwake = true
    })
  })
  await path.walk(world)
  await world.untilTrue('the thaw of the zombie', () => isAwake)
  await world.runFor(MINUTE_MS)
  const isLate = ({ by, atMs }: { by: string; atMs: number }) => by === 'zombie' && atMs > lostMs
  const mutations = world.mutations.filter(isLate).map(({ act, machine }) => `${act} ${machine}`)
  const writes = world.invariants.accepted.filter(isLate).map(({ what }) => what)
  await world.close()
  return { mutations, writes }
}
