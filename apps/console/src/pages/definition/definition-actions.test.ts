import { apiClient } from '@lcm/client/client'
import { aDefinition } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import type { Info } from '../../state/live-state.ts'
import type { Requests } from '../../state/request-tracker.ts'
import { availableActions, requestDefinitionAction } from './definition-actions.ts'

const as = (role: Info['actor']['role']): Info => ({
  version: '0.1.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: [],
  sim_control: null,
  actor: { id: 'ann', name: 'Ann', role },
})

it('offers what the API would accept from the role', () => {
  const fetched = aDefinition({ source: 'https://example.org/lab.yaml' })
  expect(availableActions(aDefinition(), as('author'))).toEqual(['preview', 'edit', 'deprecate'])
  expect(availableActions(fetched, as('admin'))).toEqual(['preview', 'edit', 'sync', 'deprecate'])
  expect(availableActions(aDefinition({ status: 'DEPRECATED' }), as('admin'))).toEqual(['preview', 'delete'])
  expect(availableActions(fetched, as('operator'))).toEqual(['preview'])
  expect(availableActions(fetched, null)).toEqual(['preview'])
})

it('sends the matching request', async () => {
  const urls: string[] = []
  const client = apiClient(async ({ method, url }) => {
    urls.push(`${method} ${url}`)
    return method === 'DELETE'
      ? { status: 204, headers: {}, body: null }
      : { status: 202, headers: {}, body: JSON.stringify({ version: 5 }) }
  })
  const promised: number[] = []
  const requests: Pick<Requests, 'send'> = {
    async send(_, __, send) {
      promised.push((await send(client)).version)
      return true
    },
  }
  for (const action of ['sync', 'deprecate', 'delete'] as const)
    await requestDefinitionAction(requests as Requests, aDefinition({ version: 3 }), action)
  expect(urls).toEqual([
    'POST /api/v1/lablet-definitions/ld-1/sync',
    'POST /api/v1/lablet-definitions/ld-1/deprecate',
    'DELETE /api/v1/lablet-definitions/ld-1',
  ])
  expect(promised).toEqual([5, 5, 4])
})
