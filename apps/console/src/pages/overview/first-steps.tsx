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

/** Guide for a new installation. Hidden once a worker and a definition exist. */
export function FirstSteps({ hasWorker, hasDefinition }: FirstStepsProps) {
  const { state } = useConsole()
  if (hasWorker && hasDefinition) return null
  const mayCreate = isAllowed(state.info.value, 'createWorker')
  const mayDefine = isAllowed(state.info.value, 'createDefinition')
  return (
    <section class="card first-steps" aria-labelledby="first-title">
      <h2 id="first-title">{hasWorker || hasDefinition ? 'Next steps' : 'Three steps to your first lab'}</h2>
      <ol>
        <Step
          n={1}
          isDone={hasWorker}
          title="Create a worker"
          text="A worker is a machine that runs Cisco Modeling Labs. You can watch each stage of its boot."
        >
          {mayCreate ? <CreateButton /> : <p class="muted">Only operators can do this.</p>}
        </Step>
        <Step
          n={2}
          isDone={hasDefinition}
          title="Add a definition"
          text="A definition is a lab topology in CML format, with its resource needs and ports."
        >
          {mayDefine ? (
            <a class="button" href={pageHash('definitions')}>
              Definitions
            </a>
          ) : (
            <p class="muted">Only authors can do this.</p>
          )}
        </Step>
        <Step
          n={3}
          isDone={false}
          title="Book a session"
          text="A session is a lab for a limited time. LCM places it, starts it on time and removes it afterwards."
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
      Create worker
    </button>
  )
}
