import type { AnswerOf } from '@lcm/contract/routes'
import { countText } from '@lcm/domain/text/format-amounts'
import type { Tone } from '@lcm/domain/text/status-tone'
import { readsAsLearner } from '../state/permission.ts'
import { useConsole } from './console-context.ts'
import { NamedIcon } from './icons.tsx'
import { useRead } from './use-read.ts'

type Preview = AnswerOf<'previewPlacement'>

interface Verdict {
  readonly text: string
  readonly tone: Tone
}

export const VERDICTS: Readonly<Record<Preview['outcome'], Verdict>> = {
  place: { text: 'Can be placed now', tone: 'green' },
  wait: { text: 'Would wait', tone: 'orange' },
  resume: { text: 'Would start a stopped worker', tone: 'blue' },
  scale_up: { text: 'Would create a new worker', tone: 'orange' },
  unschedulable: { text: 'Cannot be placed', tone: 'red' },
}

/** Learners read when their lab can start, not what happens to workers. */
const LEARNER_TEXTS: Readonly<Record<Preview['outcome'], string>> = {
  place: 'Can start now',
  wait: 'Would wait',
  resume: 'Can start in a few minutes',
  scale_up: 'Can start in a few minutes',
  unschedulable: 'Cannot start',
}

const EVERY_MS = 5_000

/** The scheduler's decision for a session that starts now, refreshed every few seconds. */
export function PlacementPreview({ definitionId }: { definitionId: string }) {
  const preview = useRead(
    `preview ${definitionId}`,
    (client, signal) => client.call('previewPlacement', { params: { id: definitionId }, signal }),
    { everyMs: EVERY_MS },
  )
  return (
    <section class="preview" aria-label="Placement preview" aria-live="polite">
      {preview.value === null ? (
        <p class="muted">{preview.error ?? 'Loading the placement preview…'}</p>
      ) : (
        <PreviewOf preview={preview.value} />
      )}
    </section>
  )
}

function PreviewOf({ preview }: { preview: Preview }) {
  const forLearner = readsAsLearner(useConsole().state.info.value)
  const { text, tone } = VERDICTS[preview.outcome]
  return (
    <>
      <p class={`preview-verdict tone-${tone}`}>
        <NamedIcon name={preview.outcome === 'place' ? 'check' : 'arrow'} />
        <span>
          <strong>{forLearner ? LEARNER_TEXTS[preview.outcome] : text}</strong>: {preview.because.message}.
        </span>
      </p>
      {preview.candidates.length > 0 && <Candidates candidates={preview.candidates} />}
      {preview.refusals.length > 0 && (
        <details>
          <summary>{countText(preview.refusals.length, 'worker')} can't host it</summary>
          <ul class="preview-refusals">
            {preview.refusals.map(({ worker_id, worker_name, because }) => (
              <li key={worker_id}>
                <strong>{worker_name}</strong>{' '}
                <span class="muted" title={because.code}>
                  {because.message}
                </span>
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
    {candidates.length > SHOWN_MAX && (
      <li class="muted">and {countText(candidates.length - SHOWN_MAX, 'more candidate')}</li>
    )}
  </ol>
)
