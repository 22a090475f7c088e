import { TAG } from '@lcm/domain/worker/instance'
import type { SeededRandom } from '@lcm/testkit/seeded-random'
import { type ControllerProcess, FLEET } from './controller-process.ts'
import { hands } from './hands.ts'
import { LICENSE, people } from './people.ts'
import { MINUTE_MS, type World } from './world.ts'

/** Everything that may happen to a fleet, by chance. */
export interface Chaos {
  /** Does something, if it can be done. */
  act(): Promise<void>
  /** Undoes what keeps a fleet from coming to rest. */
  calm(): Promise<void>
}

export interface ChaosParts {
  readonly world: World
  readonly random: SeededRandom
  readonly workersMax: number
}

type Acts = Readonly<Record<string, () => unknown>>

const FROZEN_MS_MAX = 2 * MINUTE_MS
const CALLS_AHEAD_MAX = 40
/** With fewer workers there is little to be done to them. */
const WORKERS_MIN = 2

export function chaos(parts: ChaosParts): Chaos {
  const { world, random } = parts
  const byPeople = peopleActs(parts)
  const others = [handsActs(parts), controllerActs(parts)]
  return {
    async act() {
      const isEmpty = living(world).length < WORKERS_MIN
      const acts = isEmpty ? byPeople : pick(random, [byPeople, byPeople, ...others])
      const name = isEmpty ? pick(random, FIRST) : pick(random, Object.keys(acts))
      world.time.trace(`somebody: ${name}`)
      try {
        await acts[name]?.()
      } catch (error) {
        // Whoever is told no has been answered; what is not there can't be touched.
        world.time.trace(`refused: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
      }
    },
    calm: () => calm(world),
  }
}

const FIRST = ['create', 'create with a licence']

function pick<T>(random: SeededRandom, items: readonly T[]): T {
  const item = items[random.int(items.length)]
  if (item === undefined) throw new Error('there is nothing to pick from')
  return item
}

const living = (world: World) => world.workers().filter(each => each.status !== 'TERMINATED')

function peopleActs({ world, random, workersMax }: ChaosParts): Acts {
  const ask = people(world)
  const id = () => pick(random, living(world)).id
  const hasRoom = () => living(world).length < workersMax
  const name = () => `w${random.int(1000)}`
  return {
    create: async () => hasRoom() && ask.create(name()),
    'create with a licence': async () => hasRoom() && ask.create(name(), { license: LICENSE }),
    start: () => ask.start(id()),
    stop: () => ask.stop(id()),
    terminate: () => ask.terminate(id()),
    drain: () => ask.drain(id(), { timeout_seconds: 60 + random.int(600) }),
    'cancel a drain': () => ask.cancelDrain(id()),
    license: () => ask.license(id()),
    unlicense: () => ask.unlicense(id()),
    retry: () => ask.retry(id()),
    refresh: () => ask.refresh(id()),
    book: () => ask.sessions(id(), ['ls-1']),
    unbook: () => ask.sessions(id(), []),
  }
}

function handsActs({ world, random }: ChaosParts): Acts {
  const hand = hands(world)
  const machine = () =>
    pick(
      random,
      living(world).flatMap(each => each.ec2_instance_id ?? []),
    )
  return {
    'stop a machine': () => hand.stop(machine()),
    'start a machine': () => hand.start(machine()),
    'kill a machine': () => hand.terminate(machine()),
    'untag a machine': () => hand.untag(machine(), TAG.fleet),
    'protect a machine': () => hand.protect(machine(), true),
    'replace a certificate': () => hand.onCml(machine(), 'POST replace-certificate'),
    'lose the Smart Account': () => hand.smartAccountReached(machine(), false),
    'cut CML': () => {
      world.ways.isCmlCut = true
    },
    'mend CML': () => {
      world.ways.isCmlCut = false
    },
  }
}

/** What happens to controllers. Two run from the start, and whoever dies is replaced. */
function controllerActs({ world, random }: ChaosParts): Acts {
  const { faults } = world.coordination
  const controllers: ControllerProcess[] = []
  const asleep = new Set<ControllerProcess>()
  let started = 0
  const start = () => {
    started += 1
    controllers.push(world.startController(`c${started}`))
  }
  const kill = () => {
    const [victim] = controllers.splice(random.int(controllers.length), 1)
    victim?.kill()
    start()
  }
  const freeze = () => {
    const victim = pick(
      random,
      controllers.filter(each => !asleep.has(each)),
    )
    victim.freeze()
    asleep.add(victim)
    faults.loseLease('worker-controller')
    world.time.clock.after(random.int(FROZEN_MS_MAX), () => {
      asleep.delete(victim)
      victim.thaw()
    })
  }
  start()
  start()
  return {
    'kill a controller': kill,
    'kill a controller at a call': () => {
      const when = pick(random, ['before', 'after'] as const)
      world.calls.crashAt(world.calls.made + random.int(CALLS_AHEAD_MAX), when, kill)
    },
    'freeze a controller': freeze,
    'lose the lease': () => faults.loseLease('worker-controller'),
    'break the streams': () => faults.breakStreams(),
    'drop and double events': () => faults.setDelivery(() => ({ copies: random.int(3) })),
    'deliver events': () => faults.setDelivery(undefined),
  }
}

async function calm(world: World): Promise<void> {
  const ask = people(world)
  const hand = hands(world)
  world.time.trace('calm')
  world.coordination.faults.setDelivery(undefined)
  world.ways.isCmlCut = false
  world.cloud.faults.usePreset('plain')
  world.cloud.faults.reset()
  await ask.set({ idle_detection_enabled: false })
  for (const each of living(world)) {
    await ask.sessions(each.id, [])
    // Whose end is near has no more use for a certificate.
    await ask.repin(each.id).catch(() => undefined)
  }
  for (const { instance, state } of world.cloud.machines()) {
    if (state === 'terminated') continue
    mended(() => hand.tag(instance.instance_id, { [TAG.fleet]: FLEET }))
    mended(() => hand.protect(instance.instance_id, false))
    mended(() => hand.onCml(instance.instance_id, 'DELETE faults'))
  }
}

/** A machine that EC2 does not show yet can't be mended, and needs no mending. */
function mended(mend: () => unknown): void {
  try {
    mend()
  } catch {
    return
  }
}
