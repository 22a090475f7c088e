import { type Client, unlessMissing } from '@lcm/client/client'
import { type PageRequest, readList } from '@lcm/client/list-pages'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../parts/console-context.ts'
import { useRead } from '../../parts/use-read.ts'

const FINAL = ['ARCHIVED', 'TERMINATED'] as const

/** Finished sessions are not part of the live state: they don't change, and there may be many. */
async function readFinished(client: Client, signal: AbortSignal): Promise<LabletSession[]> {
  const lists = FINAL.map(status =>
    readList((page: PageRequest) => client.call('listSessions', { query: { ...page, status }, signal })),
  )
  return (await Promise.all(lists)).flatMap(({ items }) => items)
}

export interface Sessions {
  readonly all: readonly LabletSession[]
  /** Whether finished sessions are loaded too. */
  readonly isWhole: boolean
  /** Error of loading the finished sessions. */
  readonly error: string | null
  reload(): void
}

/** Live sessions take precedence over loaded ones: they are never older. */
export function useSessions(): Sessions {
  const { state } = useConsole()
  const finished = useRead('finished sessions', readFinished)
  const live = state.live.session.all()
  const over = (finished.value ?? []).filter(({ id }) => !live.has(id))
  return { all: [...live.values(), ...over], isWhole: finished.value !== null, ...finished }
}

/** One session, live or loaded; null while loading, on an error and when it doesn't exist. */
export function useSession(id: string) {
  const { state } = useConsole()
  const live = state.live.session.get(id)
  const isHeld = live !== undefined
  // Loaded when it is no longer live: it may have ended, or been deleted.
  const read = useRead(isHeld ? 'nothing' : `session ${id}`, async (client, signal) =>
    isHeld ? null : { found: await unlessMissing(client.call('getSession', { params: { id }, signal })) },
  )
  const session = live ?? read.value?.found ?? null
  return {
    session,
    isMissing: session === null && read.value !== null,
    error: session === null ? read.error : null,
    reload: read.reload,
  }
}
