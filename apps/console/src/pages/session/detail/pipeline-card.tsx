import { isFinal, type LabletSession, type Step } from '@lcm/domain/session/lablet-session'
import { type NamedStep, stepsOf } from '@lcm/domain/session/pipeline-position'
import { durationText } from '@lcm/domain/text/format-amounts'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { NamedIcon, StatusIcon } from '../../../parts/icons.tsx'
import { notesOf, stepMs, stepTitle } from '../session-text.ts'

const TITLES = { instantiate: 'Start of the lab', teardown: 'Teardown of the lab' } as const

export function PipelineCard({ session }: { session: LabletSession }) {
  const { pipeline } = session
  return (
    <section class="card" aria-labelledby="steps-title">
      <h2 id="steps-title">
        {pipeline === null ? 'Pipeline' : TITLES[pipeline.name]}
        {pipeline !== null && <span class="muted"> attempt {pipeline.attempt}</span>}
      </h2>
      {pipeline === null ? (
        <p class="muted">{isFinal(session.status) ? 'No lab was created.' : 'The lab is not requested yet.'}</p>
      ) : (
        <ol class="steps">
          {stepsOf(pipeline).map(step => (
            <StepLine key={step.name} step={step} />
          ))}
        </ol>
      )}
    </section>
  )
}

/** Creates a new element each time: a shared one would keep its first page in memory. */
function markOf(status: Step['status']): ComponentChildren {
  if (status === 'pending') return null
  if (status === 'failed') return <StatusIcon status="FAILED" />
  return <NamedIcon name={MARKS[status]} />
}

const MARKS = { running: 'waiting', completed: 'check', skipped: 'arrow', blocked: 'lock' } as const

const StepLine = ({ step }: { step: NamedStep }) => (
  <li class={`step ${step.status}`} data-step={step.name}>
    <span class="step-mark" aria-hidden="true">
      {markOf(step.status)}
    </span>
    <span class="step-name">
      {stepTitle(step)} <span class="mono muted">{step.name}</span>
    </span>
    <span class="step-state">
      {step.status} <StepTime step={step} />
    </span>
    {notesOf(step).length > 0 && <span class="step-notes">{notesOf(step).join(' · ')}</span>}
  </li>
)

/** Re-renders every second only while the step runs. */
function StepTime({ step }: { step: NamedStep }) {
  const { nowMs } = useConsole()
  const ms = stepMs(step, step.ended_at === null ? nowMs.value : 0)
  return ms === null ? null : <span class="number">{ms < 1_000 ? '<1s' : durationText(ms)}</span>
}
