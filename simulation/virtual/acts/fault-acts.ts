import type { NO_FAULTS } from '../faults/random-faults.ts'
import type { Act, FAULT_ACTS } from './act.ts'
import { type ActContext, type Perform, pick } from './act-context.ts'
import { REPLICATED_SERVICES } from './controller-replicas.ts'

const CALLS_AHEAD_MAX = 40
const STORE_CALLS_AHEAD_MAX = 300
const REPLACED_MS_MAX = 60_000
const API_DOWN_MS_MAX = 60_000
const DELAY_MS_MAX = 5_000
const ZOMBIE_MS_MAX = 30_000
/** Further than any slot is long. */
const JUMP_MS_MAX = 2 * 3_600_000
const TROUBLE_RATE_MAX = 0.3
/** In the cloud's own seconds, which pass thirty times as fast. */
const UNKNOWN_S = 3_600

const serviceOf = ({ who }: Act) => pick(REPLICATED_SERVICES, who)
/** Whole milliseconds: virtual time would stand still before a fraction of one. */
const part = (share: number, mostMs: number) => Math.round(share * mostMs)
/** Another digit of the same draw. */
const again = (share: number) => (share * 10) % 1
const victimOf = ({ replicas: crew }: ActContext, act: Act) => pick(crew.of(serviceOf(act)), again(act.who))
const later = ({ world }: ActContext, { forMs }: Act, undo: () => void) => world.time.clock.after(forMs, undo)

function troubled(stage: ActContext, act: Act, rate: keyof typeof NO_FAULTS): void {
  const { faults: trouble } = stage.world
  trouble[rate] = act.much * TROUBLE_RATE_MAX
  later(stage, act, () => {
    trouble[rate] = 0
  })
}

function blocked(stage: ActContext, act: Act, way: 'isCmlCut' | 'isWrongAccount'): void {
  const { access: ways } = stage.world
  ways[way] = true
  later(stage, act, () => {
    ways[way] = false
  })
}

/** What happens to the processes of LCM and between them. What lasts is over after its time. */
export const faultActs: Readonly<Record<keyof typeof FAULT_ACTS, Perform>> = {
  'kill a process': (stage, act) =>
    stage.replicas.kill(serviceOf(act), victimOf(stage, act), part(act.much, REPLACED_MS_MAX)),
  'kill a process at a call'(stage, act) {
    const service = serviceOf(act)
    const calls = stage.replicas.callsOf(service)
    const when = again(act.much) < 0.5 ? 'before' : 'after'
    const call = calls.made + Math.floor(act.much * CALLS_AHEAD_MAX)
    calls.crashAt(call, when, caller =>
      stage.replicas.kill(service, stage.replicas.ownerOf(service, caller), part(act.much, REPLACED_MS_MAX)),
    )
  },
  'freeze a process'(stage, act) {
    stage.replicas.freeze(victimOf(stage, act), part(0.5, act.forMs))
    stage.world.coordination.faults.loseLease(serviceOf(act))
  },
  'freeze a process at a call'(stage, act) {
    const service = serviceOf(act)
    const calls = stage.replicas.callsOf(service)
    calls.crashAt(calls.made + part(act.much, CALLS_AHEAD_MAX), 'after', caller => {
      const victim = stage.replicas.ownerOf(service, caller)
      if (victim !== undefined) stage.replicas.freeze(victim, act.forMs)
      stage.world.coordination.faults.loseLease(service)
    })
  },
  'lose a lease': (stage, act) => stage.world.coordination.faults.loseLease(serviceOf(act)),
  'lead as a zombie': (stage, act) =>
    stage.world.coordination.faults.loseLease(serviceOf(act), { noticedAfterMs: part(act.much, ZOMBIE_MS_MAX) }),
  'jump a clock'(stage, act) {
    const jumpMs = part(2 * act.much - 1, JUMP_MS_MAX)
    later(stage, act, stage.replicas.jumpClock(serviceOf(act), again(act.who), jumpMs))
  },
  'break the streams': ({ world }) => world.coordination.faults.breakStreams(),
  'forget old changes': ({ world }) => world.coordination.faults.compact(),
  'hold the streams'(stage, act) {
    stage.world.coordination.faults.freezeStreams(true)
    later(stage, act, () => stage.world.coordination.faults.freezeStreams(false))
  },
  'drop and double events'(stage, act) {
    const { faults } = stage.world.coordination
    faults.setDelivery(() => ({ copies: stage.world.chance.int(3) }))
    later(stage, act, () => faults.setDelivery(undefined))
  },
  'delay events'(stage, act) {
    const { faults } = stage.world.coordination
    faults.setDelivery(() => ({ delayMs: stage.world.chance.int(DELAY_MS_MAX) }))
    later(stage, act, () => faults.setDelivery(undefined))
  },
  'cut CML': (stage, act) => blocked(stage, act, 'isCmlCut'),
  'lose answers of CML': (stage, act) => troubled(stage, act, 'cmlRate'),
  'lose requests': (stage, act) => troubled(stage, act, 'apiRate'),
  'kill the API': ({ world }, act) => world.api.kill(part(act.much, API_DOWN_MS_MAX)),
  'kill the API at a call': ({ world }, act) =>
    world.api.killAt(
      part(act.much, STORE_CALLS_AHEAD_MAX),
      again(act.much) < 0.5 ? 'before' : 'after',
      part(act.who, API_DOWN_MS_MAX),
    ),
  'lose writes': (stage, act) => troubled(stage, act, 'storeRate'),
  'write beside us': (stage, act) => troubled(stage, act, 'rivalRate'),
  'turn the cloud hostile'(stage, act) {
    stage.world.cloud.faults.usePreset('hostile')
    later(stage, { ...act, forMs: 2 * act.forMs }, () => stage.world.cloud.faults.usePreset('plain'))
  },
  'show no machines': (stage, act) => blocked(stage, act, 'isWrongAccount'),
  'cut EC2'(stage, act) {
    stage.world.cloud.faults.patch({ lost_request_rate: 1 })
    later(stage, act, () => stage.world.cloud.faults.patch({ lost_request_rate: 0 }))
  },
  // It is launched, and for a while nobody can find it.
  'lose the next launch'(stage, act) {
    const { faults } = stage.world.cloud
    const { unknown_at_first_s } = faults.plan()
    faults.script({ action: 'RunInstances', times: 1, fault: 'lost_answer' })
    faults.patch({ unknown_at_first_s: UNKNOWN_S })
    later(stage, act, () => faults.patch({ unknown_at_first_s }))
  },
}
