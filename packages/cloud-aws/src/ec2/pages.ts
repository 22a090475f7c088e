import { malformedResponse } from '../cloud-call.ts'

const PAGES_MAX = 1000

interface AnsweredPage<Item> {
  readonly items: Item[] | undefined
  readonly next: string | undefined
}

/** An empty 200 parses to no list at all. Taking that for "none" would mean that every machine is gone. */
export async function* allPages<Item>(
  action: string,
  page: (nextToken: string | undefined) => Promise<AnsweredPage<Item>>,
): AsyncGenerator<Item> {
  let token: string | undefined
  for (let count = 0; count < PAGES_MAX; count++) {
    const { items, next } = await page(token)
    if (!Array.isArray(items)) throw malformedResponse(action, 'an answer without a list')
    yield* items
    if (!next) return
    if (next === token) throw malformedResponse(action, 'the same page token twice')
    token = next
  }
  throw malformedResponse(action, `more than ${PAGES_MAX} pages`)
}
