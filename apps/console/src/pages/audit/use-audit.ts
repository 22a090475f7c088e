import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { useRead } from '../../parts/use-read.ts'
import { failureText } from '../../state/failure-text.ts'
import { type Held, NOTHING_HELD, withNewest, withOlder } from './audit-entries.ts'

const READ_EVERY_MS = 3_000
const PAGE = 50

interface Audit extends Held {
  /** Whether the first page was loaded. */
  readonly isKnown: boolean
  readonly error: string | null
  readonly isReadingOlder: boolean
  readOlder(): void
}

/** Audit entries of all resources or one, refreshed at the top while older pages are added at the end. */
export function useAudit(resource: string): Audit {
  const { client, notices } = useConsole()
  const query = { limit: PAGE, scaling: true, ...(resource === '' ? {} : { resource }) }
  const newest = useRead(resource, (api, signal) => api.call('listAudit', { query, signal }), {
    everyMs: READ_EVERY_MS,
  })
  const held = useSignal<{ resource: string } & Held>({ resource, ...NOTHING_HELD })
  const isReadingOlder = useSignal(false)
  const page = newest.value
  useEffect(() => {
    if (page === null) return
    const before = held.peek().resource === resource ? held.peek() : NOTHING_HELD
    held.value = { resource, ...withNewest(before, page) }
  }, [page, resource, held])
  const readOlder = async () => {
    const { cursor } = held.peek()
    if (cursor === null || isReadingOlder.peek()) return
    isReadingOlder.value = true
    try {
      const older = await client.call('listAudit', { query: { ...query, cursor } })
      if (held.peek().resource === resource) held.value = { resource, ...withOlder(held.peek(), cursor, older) }
    } catch (error) {
      notices.show('refused', 'Could not load older entries', failureText(error))
    } finally {
      isReadingOlder.value = false
    }
  }
  const shown = held.value.resource === resource ? held.value : NOTHING_HELD
  const isKnown = page !== null
  return { ...shown, isKnown, error: newest.error, isReadingOlder: isReadingOlder.value, readOlder }
}
