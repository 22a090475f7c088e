import { countText } from '@lcm/domain/text/format-amounts'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { DefinitionPage } from '../../pages/definition/definition-page.tsx'
import { SessionPage } from '../../pages/session/detail/session-page.tsx'
import { slotText } from '../../pages/session/session-text.ts'
import { WorkerPage } from '../../pages/worker/detail/worker-page.tsx'
import { type DetailPage, definitionHash, type Query, sessionHash, workerHash } from '../../state/router.ts'
import { useConsole } from '../console-context.ts'
import { Loading, NotFound } from './page-states.tsx'
import { resolveRouteIds } from './resolve-route-id.ts'

const DETAILS: Readonly<Record<DetailPage, ComponentType<{ readonly id: string }>>> = {
  worker: WorkerPage,
  session: SessionPage,
  definition: DefinitionPage,
}

const HASHES = { worker: workerHash, session: sessionHash, definition: definitionHash } as const

interface DetailProps {
  readonly page: DetailPage
  readonly id: string
  readonly query: Query
}

/** An address may contain a name: it is replaced by the id of the only match. */
export function DetailPageOf({ page, id, query }: DetailProps) {
  const { router, state } = useConsole()
  const Detail = DETAILS[page]
  const ids = resolveRouteIds(page, id, state.live)
  const other = ids.length === 1 && ids[0] !== id ? ids[0] : undefined
  useEffect(() => {
    if (other !== undefined) router.replace(HASHES[page](other, query))
  }, [other, page, query, router])
  if (other !== undefined) return <Loading />
  if (ids.length > 1) return <Several page={page} name={id} ids={ids} />
  return <Detail id={id} />
}

const Several = ({ page, name, ids }: { page: DetailPage; name: string; ids: readonly string[] }) => (
  <NotFound title="Several matches" list={`${page}s`}>
    <p>
      {countText(ids.length, page)} match <code>{name}</code>:
    </p>
    <ul>
      {ids.map(id => (
        <li key={id}>
          <a class="mono" href={HASHES[page](id)}>
            {id}
          </a>{' '}
          <Difference page={page} id={id} />
        </li>
      ))}
    </ul>
  </NotFound>
)

/** Distinguishes resources with the same name. */
function Difference({ page, id }: { page: DetailPage; id: string }) {
  const { live } = useConsole().state
  const session = page === 'session' ? live.session.get(id) : undefined
  const text = session ? `${session.status}, ${slotText(session.timeslot)}` : live[page].get(id)?.status
  return <span class="muted">{text}</span>
}
