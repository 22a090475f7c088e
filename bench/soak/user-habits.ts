import type { Client } from '@lcm/client/client'
import type { SeededRandom } from '@lcm/testkit/seeded-random'

/** A task of a user that starts at a fixed interval, whether or not the previous one has ended. */
export interface Habit {
  readonly name: string
  readonly everyMs: number
  act(): Promise<unknown>
}

const LEARNING_MS = 40_000
const STOPPED_MS = 20_000

/** Learners book and cancel, operators stop and start, authors rename, and all users read. */
export function habitsAt(client: Client, random: SeededRandom, pause: (ms: number) => Promise<void>): readonly Habit[] {
  const anyRunning = async (): Promise<string> => {
    const { items } = await client.call('listWorkers', { query: { limit: 1000, status: 'RUNNING' } })
    return items[random.int(items.length)]?.id ?? ''
  }
  return [
    {
      name: 'sessions booked',
      everyMs: 4_000,
      async act() {
        const { id } = await client.call('createSession', { body: { definition: 'two-routers', duration_minutes: 30 } })
        await pause(LEARNING_MS)
        await client.call('cancelSession', { params: { id } })
      },
    },
    {
      name: 'workers stopped and started',
      everyMs: 6_000,
      async act() {
        const id = await anyRunning()
        await client.call('stopWorker', { params: { id }, body: {} })
        await pause(STOPPED_MS)
        await client.call('startWorker', { params: { id }, body: {} })
      },
    },
    {
      name: 'workers given other tags',
      everyMs: 5_000,
      async act() {
        const body = { tags: { owner: `team-${random.int(40)}` } }
        await client.call('patchWorker', { params: { id: await anyRunning() }, body })
      },
    },
    {
      name: 'pages read',
      everyMs: 1_000,
      async act() {
        const params = { id: await anyRunning() }
        await Promise.all([
          client.call('getFleetSummary', {}),
          client.call('getWorkerDecisions', { params, query: { limit: 50 } }),
          client.call('listSessions', { query: { limit: 100 } }),
          client.call('listAudit', { query: { limit: 100 } }),
        ])
      },
    },
  ]
}
