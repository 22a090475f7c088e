import type { WorkerView } from '@lcm/contract/worker'
import { shownCertificate } from '@lcm/domain/worker/instance-trust'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { TextField } from '../../../parts/dialog/fields.tsx'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'
import { LiveWorker } from './live-worker.tsx'
import { submitWorkerForm } from './worker-requests.ts'

export const ApproveDialog = ({ id }: { id: string }) => (
  <LiveWorker id={id}>{worker => <ApproveForm worker={worker} />}</LiveWorker>
)

export const RepinDialog = ({ id }: { id: string }) => (
  <LiveWorker id={id}>{worker => <RepinForm worker={worker} />}</LiveWorker>
)

function ApproveForm({ worker }: { worker: WorkerView }) {
  const { requests } = useConsole()
  const shown = shownCertificate(worker)
  const hasOwnLogin = worker.secret_refs.cml_login !== undefined
  const body = shown === null ? {} : { fingerprint: shown }
  return (
    <FormDialog
      title={`Approve ${worker.name}?`}
      verb="Approve"
      isComplete
      send={() =>
        submitWorkerForm(requests, worker, 'approve', client =>
          client.call('approveWorker', { params: { id: worker.id }, body }),
        )
      }
    >
      <p>
        LCM did not launch the machine {worker.ec2_instance_id}. Once you approve it, LCM logs in to its CML
        {hasOwnLogin ? ' with the account that was set for it' : ' with the default password of the fleet'}, and places
        licenses and sessions on it. Approve only a machine whose owner you know.
      </p>
      {shown === null ? (
        <p>Its CML has not shown a certificate yet. LCM will pin the first one that it shows.</p>
      ) : (
        <Certificate text="Compare this SHA-256 fingerprint with the certificate on the machine. LCM will trust no other:">
          {shown}
        </Certificate>
      )}
    </FormDialog>
  )
}

function RepinForm({ worker }: { worker: WorkerView }) {
  const { requests } = useConsole()
  const fingerprint = useSignal('')
  const seen = worker.cml.seen_certificate_sha256
  return (
    <FormDialog
      title={`Pin a new certificate of ${worker.name}`}
      verb="Pin"
      isComplete={fingerprint.value.trim() !== ''}
      send={() =>
        submitWorkerForm(requests, worker, 'pin the certificate of', client =>
          client.call('repinWorker', { params: { id: worker.id }, body: { fingerprint: fingerprint.peek().trim() } }),
        )
      }
    >
      {seen === null ? (
        <p>Its CML shows the certificate that is pinned.</p>
      ) : (
        <Certificate text="Its CML now shows the certificate with this SHA-256 fingerprint:">{seen}</Certificate>
      )}
      <TextField label="Fingerprint" note="as the machine itself shows it" value={fingerprint} maxLength={95} />
    </FormDialog>
  )
}

const Certificate = ({ text, children }: { text: string; children: string }) => (
  <p>
    {text} <code class="wrap">{children}</code>
  </p>
)
