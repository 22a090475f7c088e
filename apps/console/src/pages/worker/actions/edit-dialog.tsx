import type { WorkerView } from '@lcm/contract/worker-bodies'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { TextField } from '../../../parts/dialog/fields.tsx'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'
import { Refusal } from '../../../parts/dialog/modal.tsx'
import { labelsOf, labelsText } from './labels.ts'
import { askByForm } from './request-worker.ts'
import { OfWorker } from './worker-dialog.tsx'
import { patchOf } from './worker-edit.ts'

export const EditDialog = ({ id }: { id: string }) => (
  <OfWorker id={id}>{worker => <EditOf worker={worker} />}</OfWorker>
)

function EditOf({ worker }: { worker: WorkerView }) {
  const { asks } = useConsole()
  const opened = useRef(worker).current
  const name = useSignal(opened.name)
  const labels = useSignal(labelsText(opened.labels))
  const { wrong } = labelsOf(labels.value)
  const body = patchOf(opened, name.value, labels.value)
  return (
    <FormDialog
      title={`Name and labels of ${worker.name}`}
      verb="Save"
      isComplete={name.value.trim() !== '' && wrong.length === 0}
      send={() =>
        askByForm(asks, worker, 'change', client => client.call('patchWorker', { params: { id: worker.id }, body }))
      }
    >
      <TextField label="Name" value={name} maxLength={128} />
      <label class="field">
        <span>
          Labels <span class="muted">name=value, one a line</span>
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
      {wrong.length > 0 && <Refusal>Not a label: {wrong.join(', ')}</Refusal>}
    </FormDialog>
  )
}
