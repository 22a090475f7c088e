import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { LAB_NAMES } from '../people/learners.ts'
import { LEARNER_NAMES } from '../world/control-plane.ts'
import type { LEARNER_ACTS } from './act.ts'
import { type ActContext, machineOf, type Perform, pick } from './act-context.ts'

const MINUTE_MS = 60_000

const open = (
  { world }: ActContext,
  isMeant: (session: LabletSession) => boolean = () => true,
): readonly LabletSession[] =>
  [...world.sessions.sessions.values()].filter(session => !isFinal(session.status) && isMeant(session))

/** What learners do. */
export const learnerActs: Readonly<Record<keyof typeof LEARNER_ACTS, Perform>> = {
  book({ world, learner }, { who, much }) {
    const isNow = much < 0.5
    const duration_minutes = 5 + Math.floor(((much * 2) % 1) * 50)
    const start = new Date(world.time.clock.now() + Math.floor(much * 90) * MINUTE_MS).toISOString()
    const body = { duration_minutes, ...(isNow ? {} : { start }) }
    return learner.book(pick(LAB_NAMES, who), body, pick(LEARNER_NAMES, (who * 7) % 1))
  },
  cancel: (context, { who }) => context.learner.cancel(pick(open(context), who).id),
  extend: ({ world, ...context }, { who, much }) =>
    world.client.call('extendSession', {
      params: { id: pick(open({ world, ...context }), who).id },
      body: { minutes: 1 + Math.floor(much * 20) },
    }),
  'place anew': ({ world, ...context }, { who }) =>
    world.client.call('requeueSession', {
      params: {
        id: pick(
          open({ world, ...context }, ({ status }) => status === 'SCHEDULED'),
          who,
        ).id,
      },
      body: {},
    }),
  'start its lab anew': ({ world, ...context }, { who }) =>
    world.client.call('retrySession', { params: { id: pick(open({ world, ...context }), who).id }, body: {} }),
  'use a server': (context, act) => context.manual.somebodyUses(machineOf(context, act)),
  async pry({ world, ...context }, { who, much }) {
    const session = pick(open({ world, ...context }), who)
    const stranger = pick(
      LEARNER_NAMES.filter(name => name !== session.owner),
      much,
    )
    const params = { id: session.id }
    const client = world.learner(stranger)
    const tries = {
      see: () => client.call('getSession', { params }),
      extend: () => client.call('extendSession', { params, body: { minutes: 1 } }),
      cancel: () => client.call('cancelSession', { params }),
    }
    const [name, attempt] = pick(Object.entries(tries), (much * 3) % 1)
    if (
      await attempt().then(
        () => true,
        () => false,
      )
    )
      world.invariants.violated(`${stranger} may ${name} ${session.id} of ${session.owner}`)
  },
}
