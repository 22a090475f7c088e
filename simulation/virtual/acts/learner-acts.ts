import { LAB_NAMES } from '../people/learner-requests.ts'
import { LEARNER_NAMES } from '../world/control-plane.ts'
import type { Act, LEARNER_ACTS } from './act.ts'
import { type ActContext, isUp, machineOf, openSessions, type Perform, pick } from './act-context.ts'

const MINUTE_MS = 60_000

const open = ({ world }: Pick<ActContext, 'world'>) => openSessions(world)

const aheadOf = ({ time }: ActContext['world'], minutes: number): string =>
  new Date(time.clock.now() + minutes * MINUTE_MS).toISOString()

/** Changes the lab of an open session on its CML server. */
function onLab({ world }: ActContext, { target }: Act, change: (machine: string, lab: string) => void): void {
  const { machine, lab } = pick(world.sessions.existingLabs(), target)
  change(machine, lab)
}

/** Performs acts of learners. */
export const learnerActs: Readonly<Record<keyof typeof LEARNER_ACTS, Perform>> = {
  book({ world, learner }, { target, amount }) {
    const isNow = amount < 0.5
    const duration_minutes = 5 + Math.floor(((amount * 2) % 1) * 50)
    const start = new Date(world.time.clock.now() + Math.floor(amount * 90) * MINUTE_MS).toISOString()
    const body = { duration_minutes, ...(isNow ? {} : { start }) }
    return learner.book(pick(LAB_NAMES, target), body, pick(LEARNER_NAMES, (target * 7) % 1))
  },
  'book ahead'({ world, learner }, { target, amount }) {
    const start = aheadOf(world, 60 + Math.floor(amount * 120))
    const body = { duration_minutes: 15 + Math.floor(target * 45), start }
    return learner.book(pick(LAB_NAMES, target), body, pick(LEARNER_NAMES, (target * 7) % 1))
  },
  async 'book a class'({ world }, { target, amount }) {
    const start = aheadOf(world, Math.floor(amount * 90))
    const seats = 2 + Math.floor(((amount * 10) % 1) * 12)
    const definition = pick(LAB_NAMES, (target * 5) % 1)
    const body = { definition, seats, start, duration_minutes: 15 + Math.floor(target * 30), best_effort: target > 0.8 }
    await world.learner(pick(LEARNER_NAMES, target)).call('createSessions', { body })
  },
  'book best effort'({ world, learner }, { target, amount }) {
    const start = aheadOf(world, Math.floor(amount * 60))
    const body = { duration_minutes: 10 + Math.floor(target * 40), start, best_effort: true }
    return learner.book(pick(LAB_NAMES, amount), body, pick(LEARNER_NAMES, (target * 7) % 1))
  },
  async 'cancel a class'(context, { target }) {
    const { timeslot, owner } = pick(open(context), target)
    const seats = open(context).filter(each => each.owner === owner && each.timeslot.start === timeslot.start)
    await Promise.all(seats.map(({ id }) => context.learner.cancel(id)))
  },
  async 'book many at once'({ world, learner }, { target, amount }) {
    const name = pick(LEARNER_NAMES, target)
    const start = new Date(world.time.clock.now() + Math.ceil(amount * 90) * MINUTE_MS).toISOString()
    const bookings = Array.from({ length: 12 }, (_, n) => learner.book('one', n % 2 === 0 ? {} : { start }, name))
    // A refusal is expected; one accepted booking is enough.
    await Promise.any(bookings)
    await Promise.allSettled(bookings)
  },
  cancel: (context, { target }) => context.learner.cancel(pick(open(context), target).id),
  extend: ({ world, ...context }, { target, amount }) =>
    world.client.call('extendSession', {
      params: { id: pick(open({ world, ...context }), target).id },
      body: { minutes: 1 + Math.floor(amount * 20) },
    }),
  'requeue a session': ({ world }, { target }) =>
    world.client.call('requeueSession', {
      params: {
        id: pick(
          openSessions(world, ({ status }) => status === 'SCHEDULED'),
          target,
        ).id,
      },
      body: {},
    }),
  'retry a session'(context, { target }) {
    const { id } = pick(open(context), target)
    context.manual.doubtStop(id)
    return context.world.client.call('retrySession', { params: { id }, body: {} })
  },
  'stop a lab by hand': (context, act) => onLab(context, act, context.manual.stopLab),
  'start a lab by hand': (context, act) => onLab(context, act, context.manual.startLab),
  'stop a node by hand': (context, act) =>
    onLab(context, act, (machine, lab) => context.manual.setNode(machine, lab, act.amount, 'stop')),
  'start a node by hand': (context, act) =>
    onLab(context, act, (machine, lab) => context.manual.setNode(machine, lab, act.amount, 'start')),
  'end a node from inside': (context, act) =>
    onLab(context, act, (machine, lab) => context.manual.endNode(machine, lab, act.amount)),
  'change a configuration': (context, act) =>
    onLab(context, act, (machine, lab) => context.manual.type(machine, lab, act.amount, `description ${act.target}`)),
  'save a session': ({ world }, { target }) =>
    world.client.call('saveSession', { params: { id: pick(openSessions(world, isUp), target).id }, body: {} }),
  async 'resume a save'({ world, learner }, { target, amount }) {
    const owner = pick(LEARNER_NAMES, amount)
    const { items } = await world.learner(owner).call('listSaves', { query: {} })
    return learner.resume(pick(items, target).id, 5 + Math.floor(amount * 50), owner)
  },
  'use a server': (context, act) => context.manual.useServer(machineOf(context, act)),
  async 'act on a foreign session'({ world, ...context }, { target, amount }) {
    const session = pick(open({ world, ...context }), target)
    const stranger = pick(
      LEARNER_NAMES.filter(name => name !== session.owner),
      amount,
    )
    const params = { id: session.id }
    const client = world.learner(stranger)
    const tries = {
      see: () => client.call('getSession', { params }),
      extend: () => client.call('extendSession', { params, body: { minutes: 1 } }),
      cancel: () => client.call('cancelSession', { params }),
    }
    const [name, attempt] = pick(Object.entries(tries), (amount * 3) % 1)
    if (
      await attempt().then(
        () => true,
        () => false,
      )
    )
      world.invariants.violated(`${stranger} may ${name} ${session.id} of ${session.owner}`)
  },
}
