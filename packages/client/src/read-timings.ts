import { type Timings, timingsOf } from '@lcm/domain/calendar/timings'
import type { Client } from './client.ts'
import { readList } from './list-pages.ts'

/** All measured durations, with defaults where too little was measured. */
export async function readTimings(client: Client, signal: AbortSignal): Promise<Timings> {
  const { items } = await readList(page => client.call('listTimings', { query: page, signal }))
  return timingsOf(items)
}
