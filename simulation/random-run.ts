import type { Worker } from '@lcm/domain/worker/worker'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { chaos } from './chaos.ts'
import { HOUR_MS, MINUTE_MS, openWorld, type World } from './world.ts'

export interface RandomRun {
  readonly workersMax: number
  readonly acts: number
}

export const SHORT_RUN: RandomRun = { workersMax: 3, acts: 25 }

/** Some things happen in quick succession, others when all is quiet. */
const PAUSES_MS_MAX = [5_000, 30_000, 3 * MINUTE_MS]
/** A licence may take two hours to be given back, and the last retry 45 minutes. */
const CONVERGED_MS_MAX = 4 * HOUR_MS
const QUIET_MS = 10 * MINUTE_MS

/**
 * People, faults and crashes at random in a hostile cloud; then all of it stops. Rejects when something that must hold did not,
 * or when the fleet does not come to rest. The answer is the run's identity.
 */
export async function randomRun(seed: number, { workersMax, acts }: RandomRun = SHORT_RUN): Promise<string> {
  const world = await openWorld(seed, { speed: 30, preset: 'hostile' })
  // A stream of its own: what people do must not depend on how many ids the API has drawn.
  const random = seededRandom(seed + 0.25 * 2 ** 52)
  const mischief = chaos({ world, random, workersMax })
  for (let n = 0; n < acts; n += 1) {
    await mischief.act()
    await world.runFor(random.int(PAUSES_MS_MAX[random.int(PAUSES_MS_MAX.length)] ?? 0))
  }
  await mischief.calm()
  await world.untilTrue('rest', () => world.workers().every(isAtRest), CONVERGED_MS_MAX)
  await staysQuiet(world)
  await world.close()
  return world.time.traceHash()
}

/** As wanted, or given up on and costing nothing. */
function isAtRest(worker: Worker): boolean {
  const { status, desired_status: desired, license } = worker
  if (status === 'TERMINATED') return true
  if (status === 'FAILED') return worker.failures > 3 || worker.ec2_instance_id === null
  if (desired === 'STOPPED') return status === 'STOPPED' || (status === 'PENDING' && worker.launch?.state !== 'open')
  const isServing = worker.service_status === 'AVAILABLE' && worker.drain === null
  return status === 'RUNNING' && desired === 'RUNNING' && isServing && license.pending_operation === null
}

/** A fleet at rest writes nothing, once the last words of what led there are said. */
async function staysQuiet(world: World): Promise<void> {
  await world.runFor(12 * MINUTE_MS)
  const taken = world.invariants.taken.length
  const mutations = world.mutations.length
  await world.runFor(QUIET_MS)
  const said = world.invariants.taken.slice(taken).map(({ what }) => what)
  const done = world.mutations.slice(mutations).map(({ act, machine }) => `${act} ${machine}`)
  if (said.length + done.length > 0)
    throw new Error(`seed ${world.time.seed}: a fleet at rest did ${[...said, ...done]}`)
}
