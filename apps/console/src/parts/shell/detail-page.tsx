import { countText } from '@lcm/domain/text/amounts'
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

/** People type names: the address becomes that of the one thing that is meant, looked at in the same way. */
export function DetailPageOf({ page, id, query }: DetailProps) {
  const { router, state } = useConsole()
  const Detail = DETAILS[page]
  const meant = resolveRouteIds(page, id, state.live)
  const other = meant.length === 1 && meant[0] !== id ? meant[0] : undefined
  useEffect(() => {
    if (other !== undefined) router.replace(HASHES[page](other, query))
  }, [other, page, query, router])
  if (other !== undefined) return <Loading />
  if (meant.length > 1) return <Several page={page} name={id} ids={meant} />
  return <Detail id={id} />
}

const Several = ({ page, name, ids }: { page: DetailPage; name: string; ids: readonly string[] }) => (
  <NotFound title="Which one?" list={`${page}s`}>
    <p>
      {countText(ids.length, page)} go by <code>{name}</code>:
    </p>
    <ul>
      {ids.map(id => (
        <li key={id}>
          <a class="mono" href={HASHES[page](id)}>
            {id}
          </a>{' '}
          <Told page={page} id={id} />
        </li>
      ))}
    </ul>
  </NotFound>
)

/** What those of one name are told apart by. */
function Told({ page, id }: { page: DetailPage; id: string }) {
  const { live } = useConsole().state
  const session = page === 'session' ? live.session.get(id) : undefined
  const text = session ? `${session.status}, ${slotText(session.timeslot)}` : live[page].get(id)?.status
  return <span class="muted">{text}</span>
}
