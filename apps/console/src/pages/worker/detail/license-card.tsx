import type { WorkerView } from '@lcm/contract/worker'
import type { Tone } from '@lcm/domain/text/status-tone'
import type { License } from '@lcm/domain/worker/worker-field-schemas'
import { useSignal } from '@preact/signals'
import { Age } from '../../../parts/age.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { TextField } from '../../../parts/dialog/fields.tsx'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'
import { Fact } from '../../../parts/fact.tsx'
import { NamedIcon } from '../../../parts/icons.tsx'
import { isAllowed } from '../../../state/permission.ts'
import { LiveWorker } from '../actions/live-worker.tsx'
import { submitWorkerForm } from '../actions/worker-requests.ts'

const BADGES: Readonly<Record<License['status'], readonly [Tone, 'check' | 'waiting' | 'close' | 'key']>> = {
  UNREGISTERED: ['gray', 'key'],
  REGISTERING: ['orange', 'waiting'],
  REGISTERED: ['green', 'check'],
  DEREGISTERING: ['orange', 'waiting'],
  FAILED: ['red', 'close'],
  UNKNOWN: ['violet', 'key'],
}

export function LicenseCard({ worker }: { worker: WorkerView }) {
  const { license } = worker
  const [tone, icon] = BADGES[license.status]
  return (
    <section class="card facts" aria-labelledby="license-title">
      <div class="card-head">
        <h2 id="license-title">License</h2>
        <LicenseActs worker={worker} />
      </div>
      <dl>
        <Fact name="Status">
          <span class={`badge tone-${tone}`}>
            <NamedIcon name={icon} />
            {license.status}
          </span>
          {license.pending_operation !== null && (
            <span class="pending">
              {license.pending_operation} requested
              {license.operation_started_at !== null && (
                <>
                  {' '}
                  <Age since={license.operation_started_at} /> ago
                </>
              )}
            </span>
          )}
        </Fact>
        <Fact name="Product">{license.product}</Fact>
        <Fact name="Identity">{license.udi}</Fact>
        {license.last_error !== null && <Fact name="Last error">{license.last_error}</Fact>}
      </dl>
    </section>
  )
}

function LicenseActs({ worker }: { worker: WorkerView }) {
  const { state, requests, dialog } = useConsole()
  const isLeaving = worker.desired_status === 'TERMINATED' || worker.status === 'TERMINATED'
  if (isLeaving || !isAllowed(state.info.value, 'putWorkerLicense')) return null
  const isPending = requests.pendingVerbOf(worker.id) !== null
  const holdsOne = worker.license.status !== 'UNREGISTERED' || worker.license.pending_operation === 'register'
  const register = () => {
    dialog.value = <RegisterDialog id={worker.id} />
  }
  const deregister = () => {
    dialog.value = <DeregisterDialog id={worker.id} />
  }
  return (
    <span class="actions">
      <button type="button" class="button small" aria-disabled={isPending} onClick={() => !isPending && register()}>
        Register…
      </button>
      {holdsOne && (
        <button type="button" class="button small" aria-disabled={isPending} onClick={() => !isPending && deregister()}>
          Deregister…
        </button>
      )}
    </span>
  )
}

const RegisterDialog = ({ id }: { id: string }) => (
  <LiveWorker id={id}>{worker => <RegisterOf worker={worker} />}</LiveWorker>
)

/** The API never returns the token. */
function RegisterOf({ worker }: { worker: WorkerView }) {
  const { requests, state } = useConsole()
  const template = [...state.live.template.all().values()].find(({ name }) => name === worker.template_name)
  const product = useSignal(worker.license.product ?? template?.license_product ?? '')
  const token = useSignal('')
  const body = { product: product.value.trim(), token: token.value.trim() }
  return (
    <FormDialog
      title={`Register a license on ${worker.name}`}
      verb="Register"
      isComplete={body.product !== '' && body.token !== ''}
      send={() =>
        submitWorkerForm(requests, worker, 'register the license of', client =>
          client.call('putWorkerLicense', { params: { id: worker.id }, body }),
        )
      }
    >
      <TextField label="Product" value={product} maxLength={64} placeholder="CML_Enterprise" />
      <TextField label="Token" value={token} maxLength={4096} isSecret />
      <p class="muted">The token is stored encrypted, sent only to this worker's CML, and can't be read back.</p>
    </FormDialog>
  )
}

function DeregisterDialog({ id }: { id: string }) {
  const { requests, notices } = useConsole()
  const send = (worker: WorkerView) =>
    requests.send({ kind: 'worker', id, name: worker.name }, 'deregister', async client => {
      const response = await client.call('deleteWorkerLicense', { params: { id } })
      notices.show('done', `Releasing the license of ${worker.name}`)
      return response
    })
  return (
    <LiveWorker id={id}>
      {worker => (
        <ConfirmDialog
          title={`Deregister ${worker.name}?`}
          verb="Deregister"
          typed={null}
          onConfirm={() => send(worker)}
        >
          <p>Its license returns to your account. No labs can start on it until it is registered again.</p>
        </ConfirmDialog>
      )}
    </LiveWorker>
  )
}
