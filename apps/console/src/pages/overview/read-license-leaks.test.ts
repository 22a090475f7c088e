import { apiClient } from '@lcm/client/client'
import type { Dispatch } from '@lcm/contract/route-spec'
import { expect, it } from 'vitest'
import { readLeaks } from './read-license-leaks.ts'

const PAGES: Readonly<Record<string, object>> = {
  first: { items: [{ id: 'll-1', resolved_at: '2026-01-02T03:04:05.000Z' }], next_cursor: 'll-1', revision: '1' },
  'll-1': { items: [{ id: 'll-2', resolved_at: null }], next_cursor: null, revision: '1' },
}

const transport: Dispatch = async ({ url }) => {
  const cursor = new URL(url, 'http://fake').searchParams.get('cursor') ?? 'first'
  return { status: 200, headers: {}, body: JSON.stringify(PAGES[cursor]) }
}

it('reads beyond a page of resolved leaks to the newest one', async () => {
  const { items } = await readLeaks(apiClient(transport), new AbortController().signal)
  expect(items.map(({ id }) => id)).toEqual(['ll-1', 'll-2'])
})
