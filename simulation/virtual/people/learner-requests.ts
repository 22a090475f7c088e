import type { BodyInput } from '@lcm/contract/routes'
import { isFinal, type LabletSession, type SessionStatus } from '@lcm/domain/session/lablet-session'
import type { LearnerName } from '../world/control-plane.ts'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import type { World } from '../world/world.ts'

/** Labs by number of nodes; every node has a console. */
export const LABS = { one: 1, two: 2, four: 4 } as const
export type LabName = keyof typeof LABS
/** Repeated as often as each is booked. */
export const LAB_NAMES: readonly LabName[] = ['one', 'one', 'two', 'two', 'four']

const topologyOf = (nodes: number): string =>
  JSON.stringify({
    lab: { version: '0.3.0', title: 'a lab' },
    nodes: Array.from({ length: nodes }, (_, n) => ({
      ...{ id: `n${n}`, label: `R${n}`, node_definition: 'alpine', x: n, y: 0, tags: [`serial:${4000 + n}`] },
    })),
    links: [],
  })

/** Requests of authors and learners to the API. */
export function learnersOf({ client, learner, sessions: { sessions }, session, untilTrue }: World) {
  const book = (
    definition: LabName,
    more: Partial<BodyInput<'createSession'>> = {},
    by?: LearnerName,
  ): Promise<LabletSession> =>
    (by === undefined ? client : learner(by)).call('createSession', {
      body: { definition, duration_minutes: 30, ...more },
    })
  const named = (target: number): LabName => LAB_NAMES[Math.floor(target * LAB_NAMES.length)] ?? 'one'

  /** Changes the newest version of a definition. */
  async function change(target: number, body: BodyInput<'putDefinition'>): Promise<void> {
    const { items } = await client.call('listDefinitions', { query: { name: named(target), status: 'ACTIVE' } })
    await client.call('putDefinition', { params: { id: items.at(-1)?.id ?? '' }, body })
  }

  return {
    change,
    async define(more: Partial<BodyInput<'createDefinition'>> = {}): Promise<void> {
      for (const [name, nodes] of Object.entries(LABS))
        await client.call('createDefinition', { body: { name, topology: topologyOf(nodes), ...more } })
    },
    book,
    /** Books another session with the work of an earlier one. */
    resume: (resume_save: string, duration_minutes: number, by: LearnerName): Promise<LabletSession> =>
      learner(by).call('createSession', { body: { resume_save, duration_minutes } }),
    /** Edits a definition: its title, or its topology as the next version. */
    async edit(target: number, amount: number): Promise<void> {
      const name = named(target)
      const topology = topologyOf(LABS[name] + (amount > 0.9 ? 1 : 0))
      await change(target, amount < 0.5 ? { title: `number ${amount}` } : { topology })
    },
    cancel: (id: string) => client.call('cancelSession', { params: { id } }),
    async until(id: string, status: SessionStatus, limitMs = HOUR_MS): Promise<LabletSession> {
      await untilTrue(`${status} of ${id}`, () => sessions.get(id)?.status === status, limitMs)
      return session(id)
    },
    /** Runs until every session has ended. */
    untilAllOver: (limitMs = 6 * HOUR_MS): Promise<void> =>
      untilTrue('the end of all sessions', () => [...sessions.values()].every(each => isFinal(each.status)), limitMs),
  }
}

export type Learners = ReturnType<typeof learnersOf>

/** Everything that the end of a session leaves behind is cleaned up within this time. */
export const SETTLED_MS = 3 * MINUTE_MS
