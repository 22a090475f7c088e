import type { BodyInput } from '@lcm/contract/routes'
import type { WorkerView } from '@lcm/contract/worker'
import type { Worker } from '@lcm/domain/worker/worker'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { TextField } from '../../../parts/dialog/fields.tsx'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'
import { Refusal } from '../../../parts/dialog/modal.tsx'
import { LiveWorker } from './live-worker.tsx'
import { submitWorkerForm } from './worker-requests.ts'

export const EditDialog = ({ id }: { id: string }) => (
  <LiveWorker id={id}>{worker => <EditForm worker={worker} />}</LiveWorker>
)

function EditForm({ worker }: { worker: WorkerView }) {
  const { requests } = useConsole()
  const opened = useRef(worker).current
  const name = useSignal(opened.name)
  const labels = useSignal(labelsText(opened.labels))
  const { wrong } = labelsOf(labels.value)
  const body = patchOf(opened, name.value, labels.value)
  return (
    <FormDialog
      title={`Edit ${worker.name}`}
      verb="Save"
      isComplete={name.value.trim() !== '' && wrong.length === 0}
      send={() =>
        submitWorkerForm(requests, worker, 'edit', client =>
          client.call('patchWorker', { params: { id: worker.id }, body }),
        )
      }
    >
      <TextField label="Name" value={name} maxLength={128} />
      <label class="field">
        <span>
          Labels <span class="muted">name=value, one per line</span>
        </span>
        <textarea
          rows={4}
          spellcheck={false}
          value={labels}
          onInput={event => {
            labels.value = event.currentTarget.value
          }}
        />
      </label>
      {wrong.length > 0 && <Refusal>Not a valid label: {wrong.join(', ')}</Refusal>}
    </FormDialog>
  )
}

/**
 * Only the changed fields: other users may have changed the rest since the form was opened, and the name of an imported machine
 * may not be valid for new workers.
 */
export const patchOf = (
  opened: Pick<Worker, 'name' | 'labels'>,
  name: string,
  labels: string,
): BodyInput<'patchWorker'> => ({
  ...(name.trim() === opened.name.trim() ? {} : { name: name.trim() }),
  ...(labels === labelsText(opened.labels) ? {} : { labels: labelsOf(labels).labels }),
})

/** Labels as text: `name=value`, one per line. */
export const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

/** Also returns the invalid lines, so that nothing is dropped silently. */
export function labelsOf(text: string): { labels: Record<string, string>; wrong: string[] } {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  const wrong = lines.filter(line => line.indexOf('=') < 1)
  const pairs = lines.filter(line => !wrong.includes(line)).map(line => [nameOf(line), textOf(line)] as const)
  return { labels: Object.fromEntries(pairs), wrong }
}

const nameOf = (line: string): string => line.slice(0, line.indexOf('=')).trim()
const textOf = (line: string): string => line.slice(line.indexOf('=') + 1).trim()
