import { unlessMissing } from '@lcm/client/api-error'
import type { Client } from '@lcm/client/client'
import { type PageRequest, readList } from '@lcm/client/lists'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../parts/console-context.ts'
import { useRead } from '../../parts/use-read.ts'

const FINAL = ['ARCHIVED', 'TERMINATED'] as const

/** Those that are over are not among what is kept live: they change no more, and there may be many. */
async function readFinished(client: Client, signal: AbortSignal): Promise<LabletSession[]> {
  const lists = FINAL.map(status =>
    readList((page: PageRequest) => client.call('listSessions', { query: { ...page, status }, signal })),
  )
  return (await Promise.all(lists)).flatMap(({ items }) => items)
}

export interface Sessions {
  readonly all: readonly LabletSession[]
  /** Whether those that are over are known, too. */
  readonly isWhole: boolean
  /** Why they are not. */
  readonly error: string | null
  reload(): void
}

/** What the stream says wins: it is never older than what was read before it. */
export function useSessions(): Sessions {
  const { state } = useConsole()
  const finished = useRead('finished sessions', readFinished)
  const live = state.live.session.all()
  const over = (finished.value ?? []).filter(({ id }) => !live.has(id))
  return { all: [...live.values(), ...over], isWhole: finished.value !== null, ...finished }
}

/** One session, wherever it is known; null while it is read, with the reason why it can't be, and where there is none. */
export function useSession(id: string) {
  const { state } = useConsole()
  const live = state.live.session.get(id)
  const isHeld = live !== undefined
  // Read when it is held no longer: it may be over, or gone.
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
