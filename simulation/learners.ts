import type { BodyInput } from '@lcm/contract/routes'
import { isFinal, type LabletSession, type SessionStatus } from '@lcm/domain/session/lablet-session'
import { HOUR_MS, MINUTE_MS, type World } from './world.ts'

/** Labs of so many nodes, each with a console. */
export const LABS = { one: 1, two: 2, four: 4 } as const
export type LabName = keyof typeof LABS

const topologyOf = (nodes: number): string =>
  JSON.stringify({
    lab: { version: '0.3.0', title: 'a lab' },
    nodes: Array.from({ length: nodes }, (_, n) => ({
      ...{ id: `n${n}`, label: `R${n}`, node_definition: 'alpine', x: n, y: 0, tags: [`serial:${4000 + n}`] },
    })),
    links: [],
  })

/** What authors and learners ask of the API. */
export function learners({ client, sessions: { sessions }, session, untilTrue }: World) {
  const book = (definition: LabName, more: Partial<BodyInput<'createSession'>> = {}): Promise<LabletSession> =>
    client.call('createSession', { body: { definition, duration_minutes: 30, ...more } })
  return {
    async define(more: Partial<BodyInput<'createDefinition'>> = {}): Promise<void> {
      for (const [name, nodes] of Object.entries(LABS))
        await client.call('createDefinition', { body: { name, topology: topologyOf(nodes), ...more } })
    },
    book,
    cancel: (id: string) => client.call('cancelSession', { params: { id } }),
    async until(id: string, status: SessionStatus, limitMs = HOUR_MS): Promise<LabletSession> {
      await untilTrue(`${status} of ${id}`, () => sessions.get(id)?.status === status, limitMs)
      return session(id)
    },
    /** Until every session that was ever booked is over. */
    untilAllOver: (limitMs = 6 * HOUR_MS): Promise<void> =>
      untilTrue('the end of all sessions', () => [...sessions.values()].every(each => isFinal(each.status)), limitMs),
  }
}

export type Learners = ReturnType<typeof learners>

/** All that the end of a session leaves behind is settled within this. */
export const SETTLED_MS = 3 * MINUTE_MS
