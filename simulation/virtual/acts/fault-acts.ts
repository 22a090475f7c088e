import type { NO_FAULTS } from '../faults/random-faults.ts'
import { REPLICATED_SERVICES } from '../world/controller-replicas.ts'
import type { Act, FAULT_ACTS } from './act.ts'
import { type ActContext, type Perform, pick } from './act-context.ts'

const CALLS_AHEAD_MAX = 40
const STORE_CALLS_AHEAD_MAX = 300
const REPLACED_MS_MAX = 60_000
const API_DOWN_MS_MAX = 60_000
const DELAY_MS_MAX = 5_000
const ZOMBIE_MS_MAX = 30_000
/** Longer than any time slot. */
const JUMP_MS_MAX = 2 * 3_600_000
const FAULT_RATE_MAX = 0.3
/** In seconds of the simulated cloud, which runs 30 times as fast. */
const UNKNOWN_S = 3_600
const DENIALS_MAX = 40
const DENIED = {
  code: 'UnauthorizedOperation',
  status: 403,
  message: 'You are not authorized to perform this operation.',
}

const serviceOf = ({ target }: Act) => pick(REPLICATED_SERVICES, target)
/** Rounded to whole milliseconds, because virtual time never reaches a fraction of one. */
const shareOf = (share: number, mostMs: number) => Math.round(share * mostMs)
/** Another random share from the next digit of the same draw. */
const nextDigit = (share: number) => (share * 10) % 1
const victimOf = ({ replicas }: ActContext, act: Act) => pick(replicas.of(serviceOf(act)), nextDigit(act.target))
const undoLater = ({ world }: ActContext, { forMs }: Act, undo: () => void) => world.time.clock.after(forMs, undo)

function setFaultRate(context: ActContext, act: Act, rate: keyof typeof NO_FAULTS): void {
  const { faults } = context.world
  faults[rate] = act.amount * FAULT_RATE_MAX
  undoLater(context, act, () => {
    faults[rate] = 0
  })
}

function blockAccess(context: ActContext, act: Act, flag: 'isCmlCut' | 'isWrongAccount'): void {
  const { access } = context.world
  access[flag] = true
  undoLater(context, act, () => {
    access[flag] = false
  })
}

/** Performs faults of LCM processes and of the connections between them. A lasting fault ends after its duration. */
export const faultActs: Readonly<Record<keyof typeof FAULT_ACTS, Perform>> = {
  'kill a process': (context, act) =>
    context.replicas.kill(serviceOf(act), victimOf(context, act), shareOf(act.amount, REPLACED_MS_MAX)),
  'kill a process at a call'(context, act) {
    const service = serviceOf(act)
    const calls = context.replicas.callsOf(service)
    const when = nextDigit(act.amount) < 0.5 ? 'before' : 'after'
    const call = calls.made + Math.floor(act.amount * CALLS_AHEAD_MAX)
    calls.crashAt(call, when, caller =>
      context.replicas.kill(service, context.replicas.ownerOf(service, caller), shareOf(act.amount, REPLACED_MS_MAX)),
    )
  },
  'freeze a process'(context, act) {
    context.replicas.freeze(victimOf(context, act), shareOf(0.5, act.forMs))
    context.world.coordination.faults.loseLease(serviceOf(act))
  },
  'freeze a process at a call'(context, act) {
    const service = serviceOf(act)
    const calls = context.replicas.callsOf(service)
    calls.crashAt(calls.made + shareOf(act.amount, CALLS_AHEAD_MAX), 'after', caller => {
      const victim = context.replicas.ownerOf(service, caller)
      if (victim !== undefined) context.replicas.freeze(victim, act.forMs)
      context.world.coordination.faults.loseLease(service)
    })
  },
  'lose a lease': (context, act) => context.world.coordination.faults.loseLease(serviceOf(act)),
  'lead as a zombie': (context, act) =>
    context.world.coordination.faults.loseLease(serviceOf(act), { noticedAfterMs: shareOf(act.amount, ZOMBIE_MS_MAX) }),
  'jump a clock'(context, act) {
    const jumpMs = shareOf(2 * act.amount - 1, JUMP_MS_MAX)
    undoLater(context, act, context.replicas.jumpClock(serviceOf(act), nextDigit(act.target), jumpMs))
  },
  'break the streams': ({ world }) => world.coordination.faults.breakStreams(),
  'compact old changes': ({ world }) => world.coordination.faults.compact(),
  'hold the streams'(context, act) {
    context.world.coordination.faults.freezeStreams(true)
    undoLater(context, act, () => context.world.coordination.faults.freezeStreams(false))
  },
  'drop and duplicate events'(context, act) {
    const { faults } = context.world.coordination
    faults.setDelivery(() => ({ copies: context.world.chance.int(3) }))
    undoLater(context, act, () => faults.setDelivery(undefined))
  },
  'delay events'(context, act) {
    const { faults } = context.world.coordination
    faults.setDelivery(() => ({ delayMs: context.world.chance.int(DELAY_MS_MAX) }))
    undoLater(context, act, () => faults.setDelivery(undefined))
  },
  'disconnect CML': (context, act) => blockAccess(context, act, 'isCmlCut'),
  'lose CML responses': (context, act) => setFaultRate(context, act, 'cmlRate'),
  'lose requests': (context, act) => setFaultRate(context, act, 'apiRate'),
  'kill the API': ({ world }, act) => pick(world.apis, act.target).kill(shareOf(act.amount, API_DOWN_MS_MAX)),
  'kill the API at a call': ({ world }, act) =>
    pick(world.apis, nextDigit(act.target)).killAt(
      shareOf(act.amount, STORE_CALLS_AHEAD_MAX),
      nextDigit(act.amount) < 0.5 ? 'before' : 'after',
      shareOf(act.target, API_DOWN_MS_MAX),
    ),
  'lose writes': (context, act) => setFaultRate(context, act, 'storeRate'),
  'write concurrently': (context, act) => setFaultRate(context, act, 'rivalRate'),
  'use hostile cloud faults'(context, act) {
    context.world.cloud.faults.usePreset('hostile')
    undoLater(context, { ...act, forMs: 2 * act.forMs }, () => context.world.cloud.faults.usePreset('plain'))
  },
  'show no machines': (context, act) => blockAccess(context, act, 'isWrongAccount'),
  'disconnect EC2'(context, act) {
    context.world.cloud.faults.patch({ lost_request_rate: 1 })
    undoLater(context, act, () => context.world.cloud.faults.patch({ lost_request_rate: 0 }))
  },
  // The machine is launched, and for a while no listing shows it.
  'lose the next launch'(context, act) {
    const { faults } = context.world.cloud
    const { unknown_at_first_s } = faults.plan()
    faults.script({ action: 'RunInstances', times: 1, fault: 'lost_answer' })
    faults.patch({ unknown_at_first_s: UNKNOWN_S })
    undoLater(context, act, () => faults.patch({ unknown_at_first_s }))
  },
  // The IAM policy lacks permissions to launch, start, stop and terminate.
  'deny changes of machines'({ world }, { amount }) {
    for (const action of ['RunInstances', 'power'])
      world.cloud.faults.script({ action, times: Math.ceil(amount * DENIALS_MAX), fault: DENIED })
  },
}
