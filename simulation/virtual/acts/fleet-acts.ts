import { needsApproval } from '@lcm/domain/worker/instance-trust'
import { METAL } from '../world/control-plane.ts'
import { CML_LOGIN, LICENSE } from '../world/planted-secrets.ts'
import type { Act, FLEET_ACTS } from './act.ts'
import { type ActContext, isUp, living, openSessions, type Perform, pick } from './act-context.ts'

const HOUR_MS = 3_600_000
const idOf = (context: ActContext, { target }: Act): string => pick(living(context), target).id
const hasCapacity = (context: ActContext) => living(context).length < context.size.workers
/** The license that workers start with, one of another product, and one with an invalid token. */
const LICENSES = [LICENSE, { ...LICENSE, product: 'CML_Personal' }, { ...LICENSE, token: 'an-invalid-token' }]
const nameOf = ({ target }: Act) => `w${Math.floor(target * 10_000)}`

/** Performs requests of operators. */
export const fleetActs: Readonly<Record<keyof typeof FLEET_ACTS, Perform>> = {
  create: (context, act) =>
    hasCapacity(context) &&
    context.operator.create(nameOf(act), { idle_detection_enabled: act.amount < 0.7, protected: act.amount > 0.97 }),
  async 'create with a license'(context, act) {
    if (!hasCapacity(context)) return
    const id = await context.operator.create(nameOf(act), { license: LICENSE })
    await context.world.client.call('putWorkerCredentials', { params: { id }, body: CML_LOGIN })
  },
  'change a license pool': (context, { amount }) => context.operator.setSeats(1 + Math.floor(amount * 3)),
  async 'create from a license pool'(context, act) {
    if (!hasCapacity(context)) return
    const id = await context.operator.create(nameOf(act), { license: { product: LICENSE.product } })
    await context.world.client.call('putWorkerCredentials', { params: { id }, body: CML_LOGIN })
  },
  start: (context, act) => context.operator.start(idOf(context, act)),
  stop: (context, act) => context.operator.stop(idOf(context, act), { force: act.amount < 0.3 }),
  terminate: (context, act) => context.operator.terminate(idOf(context, act), { force: act.amount < 0.3 }),
  drain: (context, act) =>
    context.operator.drain(idOf(context, act), {
      timeout_seconds: 60 + Math.floor(act.amount * 1_800),
      // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
      then: act.amount < 0.3 ? 'TERMINATED' : 'STOPPED',
    }),
  'cancel a drain': (context, act) =>
    context.operator.cancelDrain(
      pick(
        living(context).filter(({ drain }) => drain !== null),
        act.target,
      ).id,
    ),
  'register a license': (context, act) => context.operator.license(idOf(context, act), pick(LICENSES, act.amount)),
  'deregister a license': (context, act) => context.operator.unlicense(idOf(context, act)),
  retry: (context, act) =>
    context.operator.retry(
      pick(
        living(context).filter(({ status }) => status === 'FAILED'),
        act.target,
      ).id,
    ),
  refresh: (context, act) => context.operator.refresh(idOf(context, act)),
  rename: (context, act) => context.operator.rename(idOf(context, act), `renamed${Math.floor(act.amount * 10_000)}`),
  'rotate the secret key': ({ operator }) => operator.rotateKey(),
  approve: (context, act) => context.operator.approve(pick(living(context).filter(needsApproval), act.target).id),
  repin: (context, act) => context.operator.repin(idOf(context, act)),
  cordon: ({ world, ...context }, act) =>
    world.client.call('patchWorker', {
      params: { id: idOf({ world, ...context }, act) },
      body: { cordoned: act.amount < 0.5 },
    }),
  hold: ({ world, ...context }, act) =>
    world.client.call('startWorker', {
      params: { id: idOf({ world, ...context }, act) },
      body: { until: new Date(world.time.clock.now() + act.amount * 3 * HOUR_MS).toISOString() },
    }),
  'edit a template'({ world }, { amount }) {
    const { name, ...spec } = METAL
    const instance_types = amount < 0.5 ? spec.instance_types : [...spec.instance_types].reverse()
    const replace_lost = amount > 0.8
    return world.client.call('putTemplate', { params: { name }, body: { ...spec, instance_types, replace_lost } })
  },
  'edit a definition': ({ learner }, act) => learner.edit(act.target, act.amount),
  'limit bookings': ({ operator }) => operator.set({ quota_user_live_sessions: 2, quota_user_future_sessions: 3 }),
  'limit spending': ({ operator }, { amount }) =>
    operator.set({ budget_usd_per_day: Math.round(amount * 20), idle_timeout_seconds: 900, min_workers: 0 }),
  'move a session': ({ world }, { target }) =>
    world.client.call('moveSession', { params: { id: pick(openSessions(world, isUp), target).id }, body: {} }),
  'change save settings': ({ operator }, { target, amount }) =>
    operator.set({
      save_interval_minutes: 2 + Math.floor(target * 20),
      saves_kept: 1 + Math.floor(amount * 4),
      save_retention_days: 1 + Math.floor(amount * 30),
    }),
  'switch saves on or off': ({ learner }, { target, amount }) =>
    learner.change(target, { saves_enabled: amount < 0.5 }),
  'change settings': ({ operator, size }, { target, amount }) =>
    operator.set({
      idle_timeout_seconds: 900 + Math.floor(amount * 3_600),
      min_workers: Math.floor((target * size.workers) / 3),
      idle_action: target < 0.7 ? 'pause' : 'drain',
      scale_down_enabled: target < 0.9,
      scale_down_cooldown_seconds: amount < 0.3 ? 60 : amount < 0.6 ? 600 : 'off',
      license_on_stop: amount < 0.2 ? 'release' : 'keep',
      license_on_terminate: amount > 0.9 ? 'record' : 'boot',
      external_stop: target < 0.8 ? 'restart' : 'accept',
      orphan_action: target < 0.5 ? 'report' : 'terminate',
    }),
}
