import type { WorkerView } from '@lcm/contract/worker'
import type { Worker } from '@lcm/domain/worker/worker'
import type { ComponentChildren } from 'preact'
import { useConsole } from '../../../parts/console-context.ts'
import { Fact } from '../../../parts/fact.tsx'
import { NamedIcon } from '../../../parts/icons.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { canSeeAllSessions } from '../../../state/permission.ts'

export function WorkerFacts({ worker }: { worker: WorkerView }) {
  const { state } = useConsole()
  return (
    <section class="card facts" aria-labelledby="facts-title">
      <h2 id="facts-title">Details</h2>
      <dl>
        <Fact name="Template">{worker.template_name}</Fact>
        <Fact name="Instance type">{worker.instance_type}</Fact>
        {canSeeAllSessions(state.info.value) && <MachineFacts worker={worker} />}
        <Fact name="CML version">{worker.cml.version}</Fact>
        <Fact name="Approval">{approvalText(worker.approval)}</Fact>
        <Fact name="Service">{worker.service_status}</Fact>
        <Fact name="Health">{worker.system_health && <Health health={worker.system_health} />}</Fact>
        <Fact name="Origin">{worker.origin}</Fact>
        <Fact name="Created">
          <Timestamp at={worker.created_at} />
        </Fact>
        <Fact name="Updated">
          <Timestamp at={worker.updated_at} />
        </Fact>
        <Fact name="Version">{worker.version}</Fact>
        {Object.entries(worker.labels).map(([key, value]) => (
          <Fact key={key} name={`Label ${key}`}>
            {value}
          </Fact>
        ))}
        {Object.entries(worker.tags).map(([key, value]) => (
          <Fact key={key} name={`Tag ${key}`}>
            {value}
          </Fact>
        ))}
      </dl>
    </section>
  )
}

/** The API shows them to operators only. */
const MachineFacts = ({ worker }: { worker: WorkerView }) => (
  <>
    <Fact name="Instance">{worker.ec2_instance_id}</Fact>
    <Fact name="Image">{worker.ami_id}</Fact>
    <Fact name="Zone">{worker.availability_zone}</Fact>
    <Fact name="Public address">{worker.public_ip}</Fact>
    <Fact name="Private address">
      {worker.private_ip === worker.public_ip && worker.private_ip !== null ? 'same as public' : worker.private_ip}
    </Fact>
    <Fact name="CML">{endpointOf(worker)}</Fact>
    <Fact name="Certificate">{worker.cml.certificate_sha256}</Fact>
    <Fact name="Certificate shown">{worker.cml.seen_certificate_sha256}</Fact>
    <Fact name="Launch">{worker.launch && launchText(worker.launch)}</Fact>
  </>
)

/** CML's health checks, one per line. */
const Health = ({ health }: { health: NonNullable<WorkerView['system_health']> }) => (
  <ul class="health">
    {healthLines(health).map(({ name, isHealthy, text }) => (
      <li key={name}>
        {isHealthy !== null && <NamedIcon name={isHealthy ? 'check' : 'close'} />}
        {name} <span class="muted">{text}</span>
      </li>
    ))}
  </ul>
)

function approvalText({ state, by, at }: Worker['approval']): ComponentChildren {
  if (state === 'not_needed') return null
  if (state === 'required') return 'required'
  if (at === null) return state
  return (
    <>
      {state} by {by}, <Timestamp at={at} />
    </>
  )
}

const launchText = ({ n, state, error }: NonNullable<Worker['launch']>): string =>
  `attempt ${n}, ${state}${error === null ? '' : `: ${error}`}`

/** A tag on the machine can set any endpoint: only https becomes a link. */
function endpointOf({ https_endpoint: endpoint }: Worker): ComponentChildren {
  if (endpoint === null || !endpoint.startsWith('https://')) return endpoint
  return (
    <a href={endpoint} target="_blank" rel="noopener noreferrer">
      {endpoint}
    </a>
  )
}

type Health = Readonly<Record<string, boolean | number | string>>

/** One health check; `isHealthy` is null for values that are neither good nor bad. */
export interface HealthLine {
  readonly name: string
  readonly isHealthy: boolean | null
  readonly text: string
}

/** Display names that differ from the key. */
const NAMES: Readonly<Record<string, string>> = { kvm_vmx_enabled: 'KVM enabled', enough_cpus: 'enough CPUs' }

/** Failed checks first. */
export const healthLines = (health: Health): HealthLine[] =>
  Object.entries(health)
    .map(([key, value]) => ({
      name: NAMES[key] ?? key.replace(/^is_/, '').replaceAll('_', ' '),
      isHealthy: typeof value === 'boolean' ? value : null,
      text: typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value),
    }))
    .toSorted((a, b) => Number(a.isHealthy !== false) - Number(b.isHealthy !== false))
