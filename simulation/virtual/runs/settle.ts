import { isFinal } from '@lcm/domain/session/lablet-session'
import { TAG } from '@lcm/domain/worker/ec2-instance'
import { needsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, holds, type Worker } from '@lcm/domain/worker/worker'
import { type ActContext, living } from '../acts/act-context.ts'
import { ignoreMissing } from '../acts/manual-acts.ts'
import { NO_FAULTS } from '../faults/random-faults.ts'
import { misnamedMachines } from '../invariants/worker/machine-names.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { FLEET } from '../world/worker-controller-process.ts'

/**
 * From the end of all faults until every resource has its desired state and nothing is left over. A start that never succeeds has
 * four attempts of half an hour, with 65 minutes between them; then returning a license may take two hours.
 */
export const SETTLED_MS_MAX = 6 * HOUR_MS
/** Twice the longest pause between two attempts to set a Name tag. */
const NAMED_MS_MAX = HOUR_MS
const SETTLED_MS = 12 * MINUTE_MS
const QUIET_MS = 10 * MINUTE_MS
/** Periodic requests that run whether or not anything has changed. */
const ROUTINE = /\/(discoveries|cleanup|idle-checks|decisions)$/

/** Ends everything that keeps a fleet from settling: faults, and problems that need a user. */
export async function stopFaults({ world, operator, manual, replicas }: ActContext): Promise<void> {
  world.time.trace('faults end')
  replicas.restore()
  const { faults } = world.coordination
  faults.setDelivery(undefined)
  faults.freezeStreams(false)
  world.access.isCmlCut = false
  world.access.isWrongAccount = false
  world.access.silent.clear()
  world.access.labFaults.clear()
  Object.assign(world.faults, NO_FAULTS)
  await world.api.restore()
  world.cloud.faults.usePreset('plain')
  world.cloud.faults.reset()
  await operator.set({ idle_detection_enabled: false })
  for (const { instance, state, tags } of world.cloud.machines()) {
    if (state === 'terminated') continue
    const id = instance.instance_id
    if (instance.tags[TAG.workerId] !== undefined && tags[TAG.fleet] === undefined)
      ignoreMissing(() => manual.tag(id, { [TAG.fleet]: FLEET }))
    ignoreMissing(() => manual.protect(id, false))
    ignoreMissing(() => manual.onCml(id, 'DELETE faults'))
  }
}

/** Runs until every session has ended, every worker has its desired state and nothing is left over; then no writes may follow. */
export async function untilSettled(context: ActContext): Promise<void> {
  const { world } = context
  const confirm = attentiveOperator(context)
  const sessions = () => [...world.sessions.sessions.values()]
  const stateOf = (machine: string) => world.cloud.machine(machine)?.state ?? 'terminated'
  const isThere = (machine: string) => stateOf(machine) !== 'terminated'
  const costs = (machine: string) => isThere(machine) && stateOf(machine) !== 'stopped'
  const isSettled = (worker: Worker) => isAtRest(worker, costs) && hasMachine(worker, isThere)
  const isAllOver = () => {
    confirm()
    return isOver()
  }
  const isOver = () => sessions().every(({ status }) => isFinal(status)) && world.workers().every(isSettled)
  const latestMs = world.time.clock.monotonic() + SETTLED_MS_MAX
  const untilTrue = async (
    what: string,
    isTrue: () => boolean,
    unsettled: () => readonly string[],
    limitMs = Infinity,
  ) => {
    try {
      await world.untilTrue(what, isTrue, Math.min(limitMs, latestMs - world.time.clock.monotonic()))
    } catch (error) {
      if (world.invariants.violations.length > 0) throw error
      throw world.failure([`never reached: ${what}`, ...unsettled()].join('\n'))
    }
  }
  await untilTrue('a settled fleet', everyMinute(world.time.clock, isAllOver), () => [
    ...sessions().flatMap(({ id, status }) => (isFinal(status) ? [] : [`${id} is ${status}`])),
    ...world.workers().flatMap(each => (isSettled(each) ? [] : [describe(each)])),
  ])
  const leftovers = () => world.sessions.leftovers()
  await untilTrue(
    'no leftovers',
    everyMinute(world.time.clock, () => leftovers().length === 0),
    leftovers,
  )
  const misnamed = () => misnamedMachines(world.cloud, FLEET, world.workers())
  await untilTrue(
    'every machine named after its worker',
    everyMinute(world.time.clock, () => misnamed().length === 0),
    misnamed,
    NAMED_MS_MAX,
  )
  await world.invariants.checkSettled()
  await staysQuiet(world)
}

/** Approves machines and confirms new certificates: LCM waits for a person with both. */
function attentiveOperator({ world, operator }: ActContext): () => void {
  const done = new Set<string>()
  const once = (what: string, act: () => Promise<unknown>) => {
    if (done.has(what)) return
    done.add(what)
    void act().catch(() => done.delete(what))
  }
  return () => {
    for (const worker of living({ world })) {
      const { id, conditions, cml } = worker
      if (needsApproval(worker)) once(`approve ${id}`, () => operator.approve(id))
      if (holds(conditions, CONDITION.certificateChanged))
        once(`repin ${id} ${cml.seen_certificate_sha256}`, () => operator.repin(id))
    }
  }
}

/** A worker without its machine isn't settled, whatever its record says: no controller has noticed yet. */
const hasMachine = ({ status, ec2_instance_id: machine }: Worker, isThere: (machine: string) => boolean): boolean =>
  status === 'TERMINATED' || machine === null || isThere(machine)

const describe = ({ name, status, desired_status, service_status, drain, license }: Worker): string =>
  `${name} is ${status}, wanted ${desired_status}, ${service_status}, ${drain === null ? '' : 'draining, '}` +
  `license ${license.status} ${license.pending_operation ?? ''}`

/** Evaluates an expensive condition once per virtual minute. */
function everyMinute(clock: { now(): number }, isTrue: () => boolean): () => boolean {
  let checkedMs = Number.NEGATIVE_INFINITY
  return () => {
    if (clock.now() - checkedMs < MINUTE_MS) return false
    checkedMs = clock.now()
    return isTrue()
  }
}

/** In its desired state, or failed without costs. */
function isAtRest(worker: Worker, costs: (machine: string) => boolean): boolean {
  const { status, desired_status: desired, license } = worker
  if (status === 'TERMINATED') return true
  const { ec2_instance_id: machine } = worker
  if (status === 'FAILED') return machine === null || (worker.failures > 3 && !costs(machine))
  if (desired === 'STOPPED') return status === 'STOPPED' || (status === 'PENDING' && worker.launch?.state !== 'open')
  const isServing = worker.service_status === 'AVAILABLE' && worker.drain === null
  return status === 'RUNNING' && desired === 'RUNNING' && isServing && license.pending_operation === null
}

/** A settled fleet writes nothing except routine reports. */
async function staysQuiet(world: ActContext['world']): Promise<void> {
  await world.runFor(SETTLED_MS)
  const accepted = world.invariants.accepted.length
  const mutations = world.mutations.length
  const events = world.eventCount()
  await world.runFor(QUIET_MS)
  const writes = world.invariants.accepted.slice(accepted).flatMap(({ what }) => (ROUTINE.test(what) ? [] : [what]))
  const changes = world.mutations.slice(mutations).map(({ act, machine }) => `${act} ${machine}`)
  if (writes.length + changes.length > 0) throw world.failure(`a settled fleet wrote ${[...writes, ...changes]}`)
  if (world.eventCount() > events)
    throw world.failure(`a settled fleet sent ${world.eventCount() - events} change events`)
}
