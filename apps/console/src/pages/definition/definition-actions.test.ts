import { apiClient } from '@lcm/client/client'
import { aDefinition } from '@lcm/testkit/builders'
import { expect, it } from 'vitest'
import type { Info } from '../../state/live-state.ts'
import type { Asks } from '../../state/requests.ts'
import { actsOf, askDefinition } from './definition-actions.ts'

const as = (role: Info['actor']['role']): Info => ({
  version: '0.1.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: [],
  sim_control: null,
  actor: { id: 'somebody', name: 'somebody', role },
})

it('offers what the API would take, to whom it would take it from', () => {
  const fetched = aDefinition({ source: 'https://example.org/lab.yaml' })
  expect(actsOf(aDefinition(), as('author'))).toEqual(['preview', 'edit', 'deprecate'])
  expect(actsOf(fetched, as('admin'))).toEqual(['preview', 'edit', 'sync', 'deprecate'])
  expect(actsOf(aDefinition({ status: 'DEPRECATED' }), as('admin'))).toEqual(['preview', 'delete'])
  expect(actsOf(fetched, as('operator'))).toEqual(['preview'])
  expect(actsOf(fetched, null)).toEqual(['preview'])
})

it('asks for what it says', async () => {
  const urls: string[] = []
  const client = apiClient(async ({ method, url }) => {
    urls.push(`${method} ${url}`)
    return method === 'DELETE'
      ? { status: 204, headers: {}, body: null }
      : { status: 202, headers: {}, body: JSON.stringify({ version: 5 }) }
  })
  const promised: number[] = []
  const asks: Pick<Asks, 'ask'> = {
    async ask(_, __, send) {
      promised.push((await send(client)).version)
      return true
    },
  }
  for (const act of ['sync', 'deprecate', 'delete'] as const)
    await askDefinition(asks as Asks, aDefinition({ version: 3 }), act)
  expect(urls).toEqual([
    'POST /api/v1/lablet-definitions/ld-1/sync',
    'POST /api/v1/lablet-definitions/ld-1/deprecate',
    'DELETE /api/v1/lablet-definitions/ld-1',
  ])
  expect(promised).toEqual([5, 5, 4])
})
