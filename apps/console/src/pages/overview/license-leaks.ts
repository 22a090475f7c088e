import type { Client } from '@lcm/client/client'
import { type PageRequest, readList } from '@lcm/client/lists'

/** All of them: those that are dealt with stay on record, before the newest. */
export const readLeaks = (client: Client, signal: AbortSignal) =>
  readList((page: PageRequest) => client.call('listLicenseLeaks', { query: page, signal }))
