import { CML_REASONS, FAULT_REASONS } from '@lcm/domain/worker/cml-access'
import { CONDITION, type Condition, type Worker } from '@lcm/domain/worker/worker'
import { shellWord } from '../cli/terminal/shell-word.ts'
import { type Finding, failure, firstOf, ok, warning } from './finding.ts'

const LISTING = 'lcm get workers'

/** Whether the CML of every worker that should serve does, by what the worker-controller last saw. */
export function judgeCml(workers: readonly Worker[]): readonly Finding[] {
  const serving = workers.filter(({ status, service_status }) => status === 'RUNNING' && service_status === 'AVAILABLE')
  const troubled = firstOf(workers.flatMap(troubleOf), `\`${LISTING}\` shows them all`)
  if (serving.length === 0) return troubled
  const counted = serving.length === 1 ? '1 worker answers' : `${serving.length} workers answer`
  return [ok('cml', `the CML of ${counted}`), ...troubled]
}

function troubleOf(worker: Worker): Finding[] {
  const { name, status, service_status, https_endpoint } = worker
  if (status === 'FAILED') {
    const why = messageOf(worker, CONDITION.failed) ?? 'no reason is recorded'
    return [
      failure(
        'cml',
        `${name} is FAILED: ${why}`,
        `\`lcm why worker ${shellWord(name)}\` explains it, \`lcm retry worker ${shellWord(name)}\` tries again`,
      ),
    ]
  }
  if (status !== 'RUNNING' || https_endpoint === null) return []
  if (service_status === 'AVAILABLE') {
    const refused = conditionOf(worker, CONDITION.cmlAccessRefused)
    if (refused !== undefined) return [refusedCml(worker, refused)]
    const stale = messageOf(worker, CONDITION.metricsStale)
    const next = `\`lcm why worker ${shellWord(name)}\` says more`
    return stale === null ? [] : [warning('cml', `nothing was measured of ${name} for a while: ${stale}`, next)]
  }
  const why = lastSaid(worker)
  const sentence = `the CML of ${name} does not answer at ${https_endpoint}${why === null ? '' : `: ${why}`}`
  if (service_status === 'STARTING') return [warning('cml', sentence, 'wait for its boot to end')]
  const next =
    'open that address from where the worker-controller runs: if it does not answer check the security group (port 443) and ' +
    `CML_ADDRESS, if it does \`lcm why worker ${shellWord(name)}\` says more`
  return [failure('cml', sentence, next)]
}

function refusedCml({ name }: Worker, { reason, message }: Condition): Finding {
  const judge = FAULT_REASONS.includes(reason) ? failure : warning
  if (reason === CML_REASONS.telemetry_off)
    return judge('cml', `${name}: ${message}`, 'turn telemetry on in its CML; LCM sees it at its next visit')
  return judge('cml', `${name}: ${message}`, `\`lcm set credentials ${shellWord(name)}\`; LCM tries it at once`)
}

const conditionOf = ({ conditions }: Worker, type: string): Condition | undefined =>
  conditions.find(condition => condition.type === type && condition.status)

const messageOf = (worker: Worker, type: string): string | null => conditionOf(worker, type)?.message || null

/** The first thing that does not hold says what is missing. */
const lastSaid = ({ conditions }: Worker): string | null =>
  conditions.find(({ status, message }) => !status && message !== '')?.message ?? null
