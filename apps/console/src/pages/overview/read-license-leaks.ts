import type { Client } from '@lcm/client/client'
import { type PageRequest, readList } from '@lcm/client/list-pages'

/** Reads all pages: resolved leaks stay in the list and come before the newest. */
export const readLeaks = (client: Client, signal: AbortSignal) =>
  readList((page: PageRequest) => client.call('listLicenseLeaks', { query: page, signal }))
