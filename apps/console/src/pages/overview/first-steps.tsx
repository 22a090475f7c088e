import type { ComponentChildren } from 'preact'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { isAllowed } from '../../state/permission.ts'
import { pageHash } from '../../state/router.ts'
import { CreateDialog } from '../worker/actions/create-dialog.tsx'

interface FirstStepsProps {
  readonly hasWorker: boolean
  readonly hasDefinition: boolean
}

/** What to do first with an installation that is new; gone as soon as sessions can be booked. */
export function FirstSteps({ hasWorker, hasDefinition }: FirstStepsProps) {
  const { state } = useConsole()
  if (hasWorker && hasDefinition) return null
  const mayCreate = isAllowed(state.info.value, 'createWorker')
  const mayDefine = isAllowed(state.info.value, 'createDefinition')
  return (
    <section class="card first-steps" aria-labelledby="first-title">
      <h2 id="first-title">{hasWorker || hasDefinition ? 'Next steps' : 'Three steps to the first lab'}</h2>
      <ol>
        <Step
          n={1}
          isDone={hasWorker}
          title="Get a worker"
          text="A machine that runs Cisco Modeling Labs. Ask for one and watch it boot, stage by stage."
        >
          {mayCreate ? <CreateButton /> : <p class="muted">Operators do this.</p>}
        </Step>
        <Step
          n={2}
          isDone={hasDefinition}
          title="Add a definition"
          text="A lab as a CML topology, with what it needs and which ports lead into it."
        >
          {mayDefine ? (
            <a class="button" href={pageHash('definitions')}>
              Definitions
            </a>
          ) : (
            <p class="muted">Authors do this.</p>
          )}
        </Step>
        <Step
          n={3}
          isDone={false}
          title="Book a session"
          text="Somebody's lab for a while. LCM finds room, boots it in time and takes it down again."
        >
          <a class="button" href={pageHash('sessions')}>
            Sessions
          </a>
        </Step>
      </ol>
    </section>
  )
}

interface StepProps {
  readonly n: number
  readonly isDone: boolean
  readonly title: string
  readonly text: string
  readonly children: ComponentChildren
}

const Step = ({ n, isDone, title, text, children }: StepProps) => (
  <li class={`first-step ${isDone ? 'done' : ''}`}>
    <span class="first-mark number" aria-hidden="true">
      {isDone ? <NamedIcon name="check" /> : n}
    </span>
    <div>
      <p class="first-name">
        {title}
        {isDone && <span class="muted"> · done</span>}
      </p>
      <p class="muted">{text}</p>
      {!isDone && children}
    </div>
  </li>
)

function CreateButton() {
  const { dialog } = useConsole()
  const open = () => {
    dialog.value = <CreateDialog />
  }
  return (
    <button type="button" class="button primary" onClick={open}>
      <NamedIcon name="plus" />
      New worker
    </button>
  )
}
