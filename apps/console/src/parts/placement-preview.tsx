import type { AnswerOf } from '@lcm/contract/routes'
import { countText } from '@lcm/domain/text/amounts'
import type { Tone } from '@lcm/domain/text/status-tone'
import { NamedIcon } from './icons.tsx'
import { useRead } from './use-read.ts'

type Preview = AnswerOf<'previewPlacement'>

interface Verdict {
  readonly text: string
  readonly tone: Tone
}

export const VERDICTS: Readonly<Record<Preview['outcome'], Verdict>> = {
  place: { text: 'It would have a place at once', tone: 'green' },
  wait: { text: 'It would wait', tone: 'orange' },
  resume: { text: 'A worker that sleeps would be started for it', tone: 'blue' },
  scale_up: { text: 'A new worker would be bought for it', tone: 'orange' },
  unschedulable: { text: 'It could never be placed', tone: 'red' },
}

const EVERY_MS = 5_000

/** What the scheduler would do with a session that begins now, kept up to date while it is looked at. */
export function PlacementPreview({ definitionId, isLater }: { definitionId: string; isLater: boolean }) {
  const preview = useRead(
    `preview ${definitionId}`,
    (client, signal) => client.call('previewPlacement', { params: { id: definitionId }, signal }),
    { everyMs: EVERY_MS },
  )
  return (
    <section class="preview" aria-label="Where it would be placed" aria-live="polite">
      {preview.value === null ? (
        <p class="muted">{preview.error ?? 'Asking where it would be placed…'}</p>
      ) : (
        <PreviewOf preview={preview.value} isLater={isLater} />
      )}
    </section>
  )
}

function PreviewOf({ preview, isLater }: { preview: Preview; isLater: boolean }) {
  const { text, tone } = VERDICTS[preview.outcome]
  return (
    <>
      <p class={`preview-verdict tone-${tone}`}>
        <NamedIcon name={preview.outcome === 'place' ? 'check' : 'arrow'} />
        <span>
          <strong>{text}</strong>
          {isLater && ' if it began now'}: {preview.because}.
        </span>
      </p>
      {preview.candidates.length > 0 && <Candidates candidates={preview.candidates} />}
      {preview.refusals.length > 0 && (
        <details>
          <summary>{countText(preview.refusals.length, 'worker')} could not take it</summary>
          <ul class="preview-refusals">
            {preview.refusals.map(({ worker_id, worker_name, because }) => (
              <li key={worker_id}>
                <strong>{worker_name}</strong> <span class="muted">{because}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

const SHOWN_MAX = 3
const percent = (share: number): string => `${Math.round(share * 100)} %`

const Candidates = ({ candidates }: { candidates: Preview['candidates'] }) => (
  <ol class="preview-candidates">
    {candidates.slice(0, SHOWN_MAX).map(({ worker_id, worker_name, before, after }) => (
      <li key={worker_id}>
        <strong>{worker_name}</strong>
        <span class="muted number">
          cpu {percent(before.cpu)} → {percent(after.cpu)}, memory {percent(before.memory)} → {percent(after.memory)}
        </span>
      </li>
    ))}
    {candidates.length > SHOWN_MAX && <li class="muted">and {candidates.length - SHOWN_MAX} more could take it</li>}
  </ol>
)
