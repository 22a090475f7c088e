import { TAG } from '@lcm/domain/worker/ec2-instance'
import { type LabFault, SILENCES } from '../world/cloud-ports.ts'
import { CML_LOGIN } from '../world/planted-secrets.ts'
import { FLEET } from '../world/worker-controller-process.ts'
import type { Act, MANUAL_ACTS } from './act.ts'
import { type ActContext, machineOf, type Perform, pick } from './act-context.ts'

const OFFERINGS = ['us-east-1a', 'us-east-1b'].flatMap(zone => ['m5zn.metal', 'm5.metal'].map(type => ({ zone, type })))
const BROKEN = [
  { network: 'cut' },
  { fail_one_in: 2 },
  { ram_taken_mib: 180 * 1024 },
  { never_boot: ['alpine'] },
  { license_tokens: 'invalid' },
] as const
/** A broken server needs a manual repair, so it stays broken longer than a network. */
const BROKEN_TIMES = 5

/** Shorter than any interval between two probes. */
const MISSED_REBOOT_S_MAX = 30
const REBOOTS = 5
/** Longer than any interval between two probes, in virtual time. */
const REBOOT_S = 60
/** A lab that CML does not show for a minute counts as deleted. */
const NO_LABS_MS_MAX = 50_000
/** CML may be silent for longer than LCM waits for a worker that is lost. */
const SILENCE_MS_MAX = 30 * 60_000

/** Performs manual changes in EC2 and CML. A lasting change is undone after its duration. */
export const manualActs: Readonly<Record<keyof typeof MANUAL_ACTS, Perform>> = {
  'stop a machine': (context, act) => context.manual.stop(machineOf(context, act)),
  'start a machine': (context, act) => context.manual.start(machineOf(context, act)),
  'terminate a machine': (context, act) => context.manual.terminate(machineOf(context, act)),
  'untag a machine': (context, act) => context.manual.untag(machineOf(context, act), TAG.fleet),
  'name a machine': (context, act) =>
    context.manual.tag(machineOf(context, act), { [TAG.name]: `by hand ${act.amount}` }),
  'protect a machine': (context, act) => context.manual.protect(machineOf(context, act), true),
  'replace a certificate': (context, act) => context.manual.onCml(machineOf(context, act), 'POST replace-certificate'),
  'disconnect the Smart Account'(context, act) {
    const machine = machineOf(context, act)
    context.manual.smartAccountReached(machine, false)
    context.world.time.clock.after(act.forMs, () =>
      ignoreMissing(() => context.manual.smartAccountReached(machine, true)),
    )
  },
  'break a server'(context, act) {
    const machine = machineOf(context, act)
    context.manual.onCml(machine, 'PATCH faults', pick(BROKEN, act.amount))
    const repair = () => ignoreMissing(() => context.manual.onCml(machine, 'DELETE faults'))
    context.world.time.clock.after(BROKEN_TIMES * act.forMs, repair)
  },
  'change a CML password'(context, act) {
    const machine = machineOf(context, act)
    const set = (password: string) => context.manual.onCml(machine, 'POST password', { ...CML_LOGIN, password })
    set('set-behind-our-back')
    context.world.time.clock.after(act.forMs, () => ignoreMissing(() => set(CML_LOGIN.password)))
  },
  'remove labs': (context, act) => context.manual.removeLabs(machineOf(context, act)),
  'launch a foreign machine': ({ manual }, { target, amount }) =>
    manual.plant({
      [TAG.fleet]: amount < 0.5 ? 'another-fleet' : '',
      [TAG.discovery]: 'true',
      [TAG.name]: `f${target}`,
    }),
  'launch a machine to discover': ({ manual }, { target, amount }) =>
    manual.plant({
      [TAG.name]: `found${target}`,
      ...(amount < 0.5 ? { [TAG.discovery]: 'true' } : { [TAG.fleet]: FLEET }),
    }),
  'retire a machine': (context, act) => context.world.cloud.incidents.retire(machineOf(context, act), act.forMs / 1000),
  'reboot a machine': (context, act) => context.manual.reboot(machineOf(context, act)),
  'reboot a machine from inside': (context, act) =>
    context.manual.rebootInside(
      machineOf(context, act),
      act.amount < 0.5 ? act.amount * 2 * MISSED_REBOOT_S_MAX : null,
    ),
  'keep rebooting a machine'(context, act) {
    const machine = machineOf(context, act)
    const { time, cloud } = context.world
    const reboot = () => ignoreMissing(() => context.manual.rebootInside(machine, REBOOT_S * cloud.speed))
    for (let n = 0; n < REBOOTS; n += 1) time.clock.after(n * act.forMs, reboot)
  },
  'fail the lab API': (context, act) => failLabs(context, act, { how: 'fails', forMs: BROKEN_TIMES * act.forMs }),
  'list no labs': (context, act) =>
    failLabs(context, act, { how: 'shows none', forMs: Math.round(act.amount * NO_LABS_MS_MAX) }),
  'silence a CML server'(context, act) {
    const machine = machineOf(context, act)
    const forMs = 60_000 + Math.round(act.amount * (SILENCE_MS_MAX - 60_000))
    context.world.disturbances.note('manual', forMs)
    context.manual.silence(machine, pick(SILENCES, (act.amount * 10) % 1))
    context.world.time.clock.after(forMs, () => context.manual.endSilence(machine))
  },
  'tag a machine with a foreign endpoint'(context, act) {
    context.manual.tag(machineOf(context, act), { [TAG.endpoint]: strangerOf(context) })
  },
  /** It asks to be imported, and to be reached at another machine. */
  'launch a hostile machine': (context, { target }) =>
    context.manual.plant({
      [TAG.discovery]: 'true',
      [TAG.name]: `hostile${target}`,
      [TAG.endpoint]: strangerOf(context),
    }),
  'use the next launch tokens'({ manual, world }) {
    for (const { id, status, launch } of world.workers())
      if (status === 'PENDING') for (const offering of OFFERINGS) manual.useToken(id, (launch?.n ?? 0) + 1, offering)
  },
  'exhaust a zone': (context, act) => exhaust(context, [pick(OFFERINGS, act.target)], act.forMs),
  // Workers that must be started, because their machine was stopped, are blocked.
  'exhaust all zones': (context, act) => exhaust(context, OFFERINGS, BROKEN_TIMES * act.forMs),
}

function failLabs(context: ActContext, act: Act, { how, forMs }: { how: LabFault['how']; forMs: number }): void {
  const machine = machineOf(context, act)
  context.manual.failLabs(machine, how)
  context.world.time.clock.after(forMs, () => context.manual.restoreLabs(machine))
}

function exhaust({ manual, world }: ActContext, offerings: typeof OFFERINGS, forMs: number): void {
  for (const { zone, type } of offerings) manual.setCapacity(zone, type, 0)
  const restore = () => offerings.forEach(({ zone, type }) => void manual.setCapacity(zone, type, null))
  world.time.clock.after(forMs, () => ignoreMissing(restore))
}

/** The endpoint of a machine outside the fleet; empty while there is none. */
const strangerOf = ({ world }: ActContext): string =>
  world.cloud.machines().find(({ endpoint, tags }) => endpoint !== null && tags[TAG.fleet] !== FLEET)?.endpoint ?? ''

/** Undoes a change; a machine that no longer exists needs no undo. */
export function ignoreMissing(undo: () => unknown): void {
  try {
    undo()
  } catch {
    return
  }
}
