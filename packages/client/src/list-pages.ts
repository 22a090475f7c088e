/** About a megabyte of workers: parsing more at once would block the reader for too long. */
const PAGE = 250

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

interface ListPage<T> {
  readonly items: T[]
  readonly next_cursor: string | null
}

/** Reads a list page by page to its end. A failure rejects: a part is never returned as the whole. */
export async function* pagesOf<T>(read: (page: PageRequest) => Promise<ListPage<T>>): AsyncGenerator<T[]> {
  for await (const page of wholePages(read)) yield page.items
}

/** A whole list, with the position from which events cover all changes since the first page was read. */
export async function readList<T>(
  read: (page: PageRequest) => Promise<ListPage<T> & { readonly revision: string }>,
): Promise<{ items: T[]; revision: string }> {
  const items: T[] = []
  let revision = ''
  for await (const page of wholePages(read)) {
    revision ||= page.revision
    items.push(...page.items)
  }
  return { items, revision }
}

async function* wholePages<P extends ListPage<unknown>>(read: (page: PageRequest) => Promise<P>): AsyncGenerator<P> {
  let page = await read({ limit: PAGE })
  yield page
  while (page.next_cursor !== null) {
    page = await read({ limit: PAGE, cursor: page.next_cursor })
    yield page
  }
}
