import { accessAdvice, FAULT_REASONS } from '@lcm/domain/worker/decision/cml-access'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, type Condition, type Worker } from '@lcm/domain/worker/worker'
import { shellWord } from '../cli/terminal/shell-word.ts'
import { type Finding, failure, firstOf, ok, warning } from './finding.ts'

const LISTING = 'lcm get workers'

/** Whether CML responds on every worker that should serve, as last observed by the worker-controller. */
export function judgeCml(workers: readonly Worker[]): readonly Finding[] {
  const serving = workers.filter(({ status, service_status }) => status === 'RUNNING' && service_status === 'AVAILABLE')
  const troubled = firstOf(workers.flatMap(troubleOf), `list them with \`${LISTING}\``)
  if (serving.length === 0) return troubled
  const counted = serving.length === 1 ? '1 worker' : `${serving.length} workers`
  return [ok('cml', `CML responds on ${counted}`), ...troubled]
}

function troubleOf(worker: Worker): Finding[] {
  const { name, status, service_status, https_endpoint } = worker
  if (status === 'FAILED') {
    const why = messageOf(worker, CONDITION.failed) ?? 'no reason is recorded'
    return [
      failure(
        'cml',
        `${name} is FAILED: ${why}`,
        `see \`lcm why worker ${shellWord(name)}\`, then run \`lcm retry worker ${shellWord(name)}\``,
      ),
    ]
  }
  if (status !== 'RUNNING' || awaitsApproval(worker)) return []
  const changed = messageOf(worker, CONDITION.certificateChanged)
  if (changed !== null)
    return [failure('cml', `${name}: ${changed}`, 'compare the fingerprint on the machine itself first')]
  if (service_status === 'AVAILABLE') {
    const refused = conditionOf(worker, CONDITION.cmlAccessRefused)
    if (refused !== undefined) return [refusedCml(worker, refused)]
    const stale = messageOf(worker, CONDITION.metricsStale)
    const next = `see \`lcm why worker ${shellWord(name)}\``
    return stale === null ? [] : [warning('cml', `metrics of ${name} are stale: ${stale}`, next)]
  }
  const why = pendingStage(worker)
  const place = https_endpoint === null ? '' : ` at ${https_endpoint}`
  const message = `CML on ${name} does not respond${place}${why === null ? '' : `: ${why}`}`
  if (service_status === 'STARTING') return [warning('cml', message, 'wait until it has booted')]
  const explain = `see \`lcm why worker ${shellWord(name)}\``
  const next =
    'open that address on the computer of the worker-controller. If it does not respond, check the security group (port 443) and ' +
    `CML_ADDRESS. If it does, ${explain}`
  return [failure('cml', message, https_endpoint === null ? explain : next)]
}

function refusedCml({ name }: Worker, { reason }: Condition): Finding {
  const judge = FAULT_REASONS.includes(reason.code) ? failure : warning
  const advice = accessAdvice(reason, shellWord(name)) ?? `see \`lcm why worker ${shellWord(name)}\``
  return { ...judge('cml', `${name}: ${reason.message}`, advice), reason }
}

const conditionOf = ({ conditions }: Worker, type: string): Condition | undefined =>
  conditions.find(condition => condition.type === type && condition.status)

const messageOf = (worker: Worker, type: string): string | null => conditionOf(worker, type)?.reason.message ?? null

/** What the boot waits for: the first stage that is not reached. */
const pendingStage = ({ conditions }: Worker): string | null =>
  conditions.find(({ status }) => !status)?.reason.message ?? null
