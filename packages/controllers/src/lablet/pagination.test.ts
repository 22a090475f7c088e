import type { Client } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import { expect, it } from 'vitest'
import { aController } from './testing/a-controller.ts'
import { type LabWorld, labWorld, MINUTE_MS } from './testing/lab-world.ts'

const PAGE = 2
const COUNT = 7

/** An API that gives no more than a few sessions at a time, whatever it is asked for. */
function frugal({ api }: LabWorld): Client {
  async function list(request: Parameters<Client['call']>[1]): Promise<AnswerOf<'listSessions'>> {
    const { items, ...rest } = await api.client.call('listSessions', {})
    const { cursor = 0 }: { cursor?: unknown } = { ...Object(request).query }
    const next = Number(cursor) + PAGE
    const next_cursor = next < items.length ? String(next) : null
    return { ...rest, items: items.slice(Number(cursor), next), next_cursor }
  }
  const call = (name: Parameters<Client['call']>[0], request: Parameters<Client['call']>[1]) =>
    name === 'listSessions' ? list(request) : api.client.call(name, request)
  return { ...api.client, call: call as Client['call'] }
}

it('D-37: a session on the last page is looked after, however long those before it stay', async () => {
  const world = await labWorld()
  const first = world.book('ls-0', 30 * MINUTE_MS)
  const ids = Array.from({ length: COUNT }, (_, n) => `ls-${n}`)
  // No event announces these sessions: only lists show them.
  for (const id of ids) world.api.sessions.set(id, { ...first, id })
  const last = ids.at(-1) ?? ''
  world.api.sessions.set(last, { ...first, id: last, desired_status: 'TERMINATED' })
  aController(world, 'one', { client: frugal(world) })
  await world.clock.advance(3 * MINUTE_MS)
  expect(world.api.session(last).status).toBe('TERMINATED')
})
