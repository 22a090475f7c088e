import { type Status, toneOf } from '@lcm/domain/text/status-tone'
import { type ListPage, pageHash } from '../../state/router.ts'
import { StatusIcon } from '../icons.tsx'

interface StatusCountsProps {
  readonly class: string
  /** List page to link to. */
  readonly page: ListPage
  /** Field that the list is filtered by. */
  readonly by?: 'status' | 'health'
  readonly counts: readonly { readonly status: Status; readonly count: number }[]
}

/** Number of items per status or health, each a link to the filtered list. */
export const StatusCounts = ({ class: name, page, by = 'status', counts }: StatusCountsProps) => (
  <ul class={name}>
    {counts.map(({ status, count }) => (
      <li key={status}>
        <a class={`fleet-count tone-${toneOf(status)}`} href={pageHash(page, { [by]: status })}>
          <StatusIcon status={status} />
          <span>{status}</span>
          <span class="number">{count}</span>
        </a>
      </li>
    ))}
  </ul>
)
