import type { Reason } from '@lcm/domain/reason'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { WORKER_POLICY } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'
import { type ManualChanges, manualChangesOf } from '../people/manual-changes.ts'
import { type Operator, operatorOf } from '../people/operator-requests.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import type { World, WorldOptions } from '../world/world.ts'

interface PathContext {
  readonly world: World
  readonly operator: Operator
  readonly manual: ManualChanges
}

/** A sequence of requests for a worker, with checks at its end. */
export interface Path {
  readonly name: string
  readonly options: WorldOptions
  /** Maximum number of machines that ever existed. */
  readonly machines: number
  walk(world: World): Promise<void>
}

/** A short boot timeout, to save virtual time. */
const SHORT_TIMEOUT: WorldOptions = {
  settings: { worker: { policy: { ...WORKER_POLICY, startingMsMax: 2 * MINUTE_MS } } },
}

interface Limits {
  readonly machines?: number
  readonly options?: WorldOptions
}

const path = (name: string, walk: (context: PathContext) => Promise<void>, limits: Limits = {}): Path => ({
  name,
  machines: limits.machines ?? 1,
  options: { speed: 20, ...limits.options },
  walk: world => walk({ world, operator: operatorOf(world), manual: manualChangesOf(world) }),
})

const untilLicense = ({ world }: PathContext, status: Worker['license']['status']) =>
  world.untilTrue(status, () => world.workers()[0]?.license.status === status)

const untilSeats = ({ world, manual }: PathContext, count: number) =>
  world.untilTrue(`${count} licenses`, () => manual.seats().length === count)

async function licensed(context: PathContext): Promise<string> {
  const id = await context.operator.create('metal-1', { license: LICENSE })
  await untilLicense(context, 'REGISTERED')
  await context.world.until(id, 'RUNNING')
  return id
}

/** Waits for the end of the worker and checks that no license was lost. */
async function ended(context: PathContext, id: string): Promise<void> {
  await context.world.until(id, 'TERMINATED', 3 * HOUR_MS)
  await untilSeats(context, 0)
  const leaks = (await context.operator.leaks()).filter(leak => !isFairDoubt(context, leak))
  if (leaks.length > 0) throw new Error(`a license was recorded as lost: ${leaks[0]?.reason.message}`)
}

/** A license returned by a controller that died before reporting it: its successor can only record a possible leak. */
function isFairDoubt({ world }: PathContext, { reason }: { readonly reason: Reason }): boolean {
  const lastBy = (what: string) => world.mutations.findLast(({ act }) => act === what)?.by
  return reason.code === 'license_return_unconfirmed' && lastBy('deregister') !== lastBy('terminate')
}

/** Paths to every kind of change that a controller makes. */
export const PATHS: readonly Path[] = [
  path('launch, stop, start, terminate', async context => {
    const { world, operator } = context
    const { id } = await operator.createAndRun('metal-1')
    await operator.stop(id)
    await world.until(id, 'STOPPED')
    await operator.start(id)
    await world.until(id, 'RUNNING')
    await operator.terminate(id)
    await ended(context, id)
  }),
  path('rename', async context => {
    const { world, operator, manual } = context
    const id = await operator.create('metal-1')
    await world.untilTrue('a machine', () => world.workers()[0]?.ec2_instance_id != null)
    await operator.rename(id, 'metal-2')
    await world.until(id, 'RUNNING')
    const machine = await manual.machineOf(id)
    const isNamed = (name: string) => world.cloud.machine(machine)?.tags[TAG.name] === name
    await world.untilTrue('the second name', () => isNamed('metal-2'))
    await operator.rename(id, 'metal-3')
    await world.untilTrue('the third name', () => isNamed('metal-3'))
    await operator.terminate(id)
    await ended(context, id)
  }),
  path('terminate during the launch', async context => {
    const { world, operator } = context
    const id = await operator.create('metal-1')
    await world.runFor(1_500)
    await operator.terminate(id)
    await ended(context, id)
  }),
  path('drain', async ({ world, operator }) => {
    const { id } = await operator.createAndRun('metal-1')
    await operator.sessions(id, ['ls-1'])
    await operator.drain(id)
    await world.until(id, 'DRAINING')
    await world.runFor(2 * MINUTE_MS)
    await operator.sessions(id, [])
    await world.until(id, 'STOPPED')
  }),
  path('register and deregister', async context => {
    const { operator } = context
    const id = await licensed(context)
    await untilSeats(context, 1)
    await operator.unlicense(id)
    await untilLicense(context, 'UNREGISTERED')
    await untilSeats(context, 0)
  }),
  path('terminate with a license', async context => {
    const id = await licensed(context)
    await context.operator.terminate(id)
    await ended(context, id)
  }),
  path('terminate with a license that a lab holds', async context => {
    const { world, operator, manual } = context
    world.sessions.start('lablet-controller', 'lablets')
    const id = await licensed(context)
    manual.onCml(await manual.machineOf(id), 'POST start-lab', { username: 'ada' })
    await operator.terminate(id)
    await ended(context, id)
  }),
  path('terminate while stopped with a license', async context => {
    const id = await licensed(context)
    await context.operator.stop(id)
    await context.world.until(id, 'STOPPED')
    await context.operator.terminate(id)
    await ended(context, id)
  }),
  path('a machine that is terminated with its license', async ({ world, operator, manual }) => {
    const id = await licensed({ world, operator, manual })
    manual.terminate(await manual.machineOf(id))
    await world.until(id, 'TERMINATED')
    if ((await operator.leaks()).length !== 1) throw new Error('the lost license was not recorded')
  }),
  path('discovery', async ({ world, manual }) => {
    const machine = manual.plant({ [TAG.discovery]: 'true', [TAG.name]: 'found' })
    await world.untilTrue('found', () => world.workers().some(each => each.status === 'RUNNING'))
    await world.runFor(6 * MINUTE_MS)
    const found = world.workers().map(each => each.ec2_instance_id)
    if (found.join() !== machine) throw new Error(`found ${found}, expected ${machine}`)
  }),
  path('idle pause', async ({ world, operator }) => {
    await operator.set({ idle_timeout_seconds: 300, scale_down_cooldown_seconds: 0 })
    const id = await operator.create('metal-1')
    await world.until(id, 'STOPPED')
    const { pause } = await world.worker(id)
    if (pause.counts.auto !== 1) throw new Error(`it was paused ${pause.counts.auto} times`)
  }),
  path(
    'a boot that fails once',
    async ({ world, operator }) => {
      await operator.set({ idle_detection_enabled: false })
      world.access.isCmlCut = true
      const id = await operator.create('metal-1')
      await world.until(id, 'FAILED')
      world.access.isCmlCut = false
      await world.until(id, 'RUNNING')
    },
    { options: SHORT_TIMEOUT },
  ),
  path(
    'a launch that dies',
    async ({ world, operator }) => {
      const id = await operator.create('metal-1')
      const first = () => world.cloud.machines()[0]
      await world.untilTrue('a launch', () => first()?.state === 'pending')
      world.cloud.incidents.killInPending(first()?.instance.instance_id ?? '')
      await world.until(id, 'RUNNING')
    },
    { machines: 2 },
  ),
]
