import { type Status, toneOf } from '@lcm/domain/text/status-tone'
import { type ListPage, pageHash } from '../../state/router.ts'
import { StatusIcon } from '../icons.tsx'

interface StatusCountsProps {
  readonly class: string
  /** List page to link to. */
  readonly page: ListPage
  readonly counts: readonly { readonly status: Status; readonly count: number }[]
}

/** Number of items per status, each a link to the filtered list. */
export const StatusCounts = ({ class: name, page, counts }: StatusCountsProps) => (
  <ul class={name}>
    {counts.map(({ status, count }) => (
      <li key={status}>
        <a class={`fleet-count tone-${toneOf(status)}`} href={pageHash(page, { status })}>
          <StatusIcon status={status} />
          <span>{status}</span>
          <span class="number">{count}</span>
        </a>
      </li>
    ))}
  </ul>
)
