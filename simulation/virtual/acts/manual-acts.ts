import { TAG } from '@lcm/domain/worker/instance'
import { FLEET } from '../world/controller-process.ts'
import { CML_LOGIN } from '../world/planted-secrets.ts'
import type { MANUAL_ACTS } from './act.ts'
import { machineOf, type Perform, pick } from './act-context.ts'

const OFFERINGS = ['us-east-1a', 'us-east-1b'].flatMap(zone => ['m5zn.metal', 'm5.metal'].map(type => ({ zone, type })))
const BROKEN = [
  { network: 'cut' },
  { fail_one_in: 2 },
  { ram_taken_mib: 180 * 1024 },
  { never_boot: ['alpine'] },
  { licence_tokens: 'invalid' },
] as const
/** A server that somebody has to mend stays broken for longer than a network. */
const BROKEN_TIMES = 5

/** What is done behind LCM's back. What lasts is undone after its time. */
export const manualActs: Readonly<Record<keyof typeof MANUAL_ACTS, Perform>> = {
  'stop a machine': (stage, act) => stage.hand.stop(machineOf(stage, act)),
  'start a machine': (stage, act) => stage.hand.start(machineOf(stage, act)),
  'kill a machine': (stage, act) => stage.hand.terminate(machineOf(stage, act)),
  'untag a machine': (stage, act) => stage.hand.untag(machineOf(stage, act), TAG.fleet),
  'name a machine': (stage, act) => stage.hand.tag(machineOf(stage, act), { [TAG.name]: `by hand ${act.much}` }),
  'protect a machine': (stage, act) => stage.hand.protect(machineOf(stage, act), true),
  'replace a certificate': (stage, act) => stage.hand.onCml(machineOf(stage, act), 'POST replace-certificate'),
  'lose the Smart Account'(stage, act) {
    const machine = machineOf(stage, act)
    stage.hand.smartAccountReached(machine, false)
    stage.world.time.clock.after(act.forMs, () => undone(() => stage.hand.smartAccountReached(machine, true)))
  },
  'break a server'(stage, act) {
    const machine = machineOf(stage, act)
    stage.hand.onCml(machine, 'PATCH faults', pick(BROKEN, act.much))
    const mend = () => undone(() => stage.hand.onCml(machine, 'DELETE faults'))
    stage.world.time.clock.after(BROKEN_TIMES * act.forMs, mend)
  },
  'change a CML password'(stage, act) {
    const machine = machineOf(stage, act)
    const set = (password: string) => stage.hand.onCml(machine, 'POST password', { ...CML_LOGIN, password })
    set('set-behind-our-back')
    stage.world.time.clock.after(act.forMs, () => undone(() => set(CML_LOGIN.password)))
  },
  'remove labs': (stage, act) => stage.hand.removeLabs(machineOf(stage, act)),
  'plant a foreign machine': ({ hand }, { who, much }) =>
    hand.plant({ [TAG.fleet]: much < 0.5 ? 'another-fleet' : '', [TAG.discovery]: 'true', [TAG.name]: `f${who}` }),
  'plant a machine to be found': ({ hand }, { who, much }) =>
    hand.plant({ [TAG.name]: `found${who}`, ...(much < 0.5 ? { [TAG.discovery]: 'true' } : { [TAG.fleet]: FLEET }) }),
  'retire a machine': (stage, act) => stage.world.cloud.incidents.retire(machineOf(stage, act), act.forMs / 1000),
  'tag a machine with a foreign endpoint'(stage, act) {
    const stranger = stage.world.cloud
      .machines()
      .find(({ endpoint, tags }) => endpoint !== null && tags[TAG.fleet] !== FLEET)
    stage.hand.tag(machineOf(stage, act), { [TAG.endpoint]: stranger?.endpoint ?? '' })
  },
  'use the next launch tokens'({ hand, world }) {
    for (const { id, status, launch } of world.workers())
      if (status === 'PENDING') for (const offering of OFFERINGS) hand.useToken(id, (launch?.n ?? 0) + 1, offering)
  },
  'use up a zone'({ hand, world }, { who, forMs }) {
    const { zone, type } = pick(OFFERINGS, who)
    hand.setRoom(zone, type, 0)
    world.time.clock.after(forMs, () => undone(() => hand.setRoom(zone, type, null)))
  },
}

/** What is gone by now needs no mending. */
export function undone(undo: () => unknown): void {
  try {
    undo()
  } catch {
    return
  }
}
