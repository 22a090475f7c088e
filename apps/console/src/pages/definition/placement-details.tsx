import type { AnswerOf } from '@lcm/contract/routes'
import { useConsole } from '../../parts/console-context.ts'
import { Modal } from '../../parts/dialog/modal.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { VERDICTS } from '../../parts/placement-preview.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { TableHead } from '../../parts/table/table-head.tsx'
import { useRead } from '../../parts/use-read.ts'
import { workerHash } from '../../state/router.ts'
import { fullName } from './definition-actions.ts'

const COLUMNS = ['Worker', 'Score', 'CPU', 'Memory']

type Preview = AnswerOf<'previewPlacement'>
const EVERY_MS = 5_000

/** Refreshes while open, and closes when the definition is deleted. */
export function PreviewDialog({ id }: { id: string }) {
  const { state } = useConsole()
  const definition = state.live.definition.get(id)
  return (
    <Modal title={`Where ${definition ? fullName(definition) : id} would be placed`}>
      <div class="modal-body">
        <Placement id={id} />
      </div>
    </Modal>
  )
}

export function Placement({ id }: { id: string }) {
  const preview = useRead(
    `placement ${id}`,
    (client, signal) => client.call('previewPlacement', { params: { id }, signal }),
    { everyMs: EVERY_MS },
  )
  if (preview.value !== null) return <PlacementOf preview={preview.value} />
  if (preview.error === null) return <p class="muted">Loading the placement…</p>
  return (
    <p class="read-failed" role="alert">
      Could not ask: {preview.error}{' '}
      <button type="button" class="button small" onClick={preview.reload}>
        Try again
      </button>
    </p>
  )
}

function PlacementOf({ preview }: { preview: Preview }) {
  const { text, tone } = VERDICTS[preview.outcome]
  return (
    <div class="placement">
      <p class={`placement-verdict tone-${tone}`} aria-live="polite">
        <NamedIcon name={preview.outcome === 'place' ? 'check' : 'arrow'} />
        <span>
          <strong>{text}</strong>: {preview.because.message}.
        </span>
      </p>
      {preview.candidates.length > 0 && <Candidates candidates={preview.candidates} />}
      {preview.refusals.length > 0 && <Refusals refusals={preview.refusals} />}
    </div>
  )
}

const Candidates = ({ candidates }: { candidates: Preview['candidates'] }) => (
  <ScrollBox label="Workers that could take it">
    <table class="placement-table">
      <caption>Candidates, best first</caption>
      <TableHead columns={COLUMNS} />
      <tbody>
        {candidates.map(({ worker_id, worker_name, score, before, after }) => (
          <tr key={worker_id}>
            <th scope="row">
              <a href={workerHash(worker_id)}>{worker_name}</a>
            </th>
            <td class="number">{score.toFixed(2)}</td>
            <td>
              <BeforeAfter before={before.cpu} after={after.cpu} />
            </td>
            <td>
              <BeforeAfter before={before.memory} after={after.memory} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollBox>
)

const percent = (share: number): string => `${Math.round(share * 100)} %`
const widthOf = (share: number): string => `${Math.min(1, share) * 100}%`

const BeforeAfter = ({ before, after }: { before: number; after: number }) => (
  <span class="before-after number">
    <span class="use-bar" aria-hidden="true">
      <span class="use-after" style={{ width: widthOf(after) }} />
      <span class="use-before" style={{ width: widthOf(before) }} />
    </span>
    {percent(before)} → {percent(after)}
  </span>
)

const Refusals = ({ refusals }: { refusals: Preview['refusals'] }) => (
  <div class="placement-refusals">
    <h3>Not suitable</h3>
    {byCategory(refusals).map(([category, items]) => (
      <section key={category} aria-label={CATEGORY_TEXTS[category]}>
        <p class="refusal-category">
          {CATEGORY_TEXTS[category]} <span class="number muted">{items.length}</span>
        </p>
        <ul>
          {items.map(({ worker_id, worker_name, because }) => (
            <li key={worker_id}>
              <a href={workerHash(worker_id)}>{worker_name}</a>{' '}
              <span class="muted" title={because.code}>
                {because.message}
              </span>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </div>
)

type Refusal = AnswerOf<'previewPlacement'>['refusals'][number]
type Category = Refusal['category']

export const CATEGORY_TEXTS: Readonly<Record<Category, string>> = {
  status: 'Not serving',
  license: 'Different license',
  capacity: 'No capacity',
  cml_version: 'Other CML version',
  node_definitions: 'CML lacks node definitions',
  ports: 'Not enough ports',
}

/** Most frequent categories first. */
export function byCategory(refusals: readonly Refusal[]): [Category, Refusal[]][] {
  const groups = new Map<Category, Refusal[]>()
  for (const refusal of refusals) groups.set(refusal.category, [...(groups.get(refusal.category) ?? []), refusal])
  return [...groups].toSorted(([, a], [, b]) => b.length - a.length)
}
