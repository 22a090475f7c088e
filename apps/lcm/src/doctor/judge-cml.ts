import { countText } from '@lcm/domain/text/format-amounts'
import { accessAdvice, FAULT_REASONS } from '@lcm/domain/worker/decision/cml-access'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import { CONDITION, type Condition, type Worker } from '@lcm/domain/worker/worker'
import { shellWord } from '../cli/terminal/shell-word.ts'
import type { AskedCml } from './ask-cml.ts'
import { type Finding, failure, firstOf, ok, warning } from './finding.ts'

const LISTING = 'lcm get workers'

type Answers = Pick<AskedCml, 'stages' | 'unasked'>
/** For workers that were not asked. */
const UNASKED: Answers = { stages: new Map(), unasked: null }

/**
 * Whether CML responds on every worker that should serve. A silent CML fails the check when people have sessions on it, and is a
 * warning otherwise.
 */
export function judgeCml(workers: readonly Worker[], { stages, unasked }: Answers = UNASKED): readonly Finding[] {
  const isServing = ({ id, status, service_status }: Worker) =>
    status === 'RUNNING' && service_status === 'AVAILABLE' && (stages.get(id) ?? READY) === READY
  const serving = workers.filter(isServing).length
  const found = [
    ...firstOf(
      workers.flatMap(worker => troubleOf(worker, stages.get(worker.id) ?? null)),
      `list them with \`${LISTING}\``,
    ),
    ...(unasked === null ? [] : [notAsked(unasked)]),
  ]
  if (serving === 0) return found
  const counted = serving === 1 ? '1 worker' : `${serving} workers`
  return [ok('cml', `CML responds on ${counted}`), ...found]
}

const READY = 'READY'

/** Old records look like answers, so it says whose they are. */
function notAsked({ names, because, advice }: NonNullable<Answers['unasked']>): Finding {
  const message = `CML could not be asked on ${names.join(', ')}: ${because}. This is what was last recorded`
  return warning('cml', message, advice)
}

const isInUse = ({ reservations }: Worker): boolean => Object.keys(reservations).length > 0

/** A failure where people have sessions. */
function down(worker: Worker, message: string, advice: string): Finding {
  const count = Object.keys(worker.reservations).length
  if (!isInUse(worker)) return warning('cml', message, advice)
  return failure('cml', `${message} (${countText(count, 'session')} on it)`, advice)
}

function troubleOf(worker: Worker, stage: string | null): Finding[] {
  const { name, status, service_status, https_endpoint } = worker
  const explain = `see \`lcm why worker ${shellWord(name)}\``
  if (status === 'FAILED') {
    const why = messageOf(worker, CONDITION.failed) ?? 'no reason is recorded'
    return [down(worker, `${name} is FAILED: ${why}`, `${explain}, then run \`lcm retry worker ${shellWord(name)}\``)]
  }
  if (status !== 'RUNNING' || awaitsApproval(worker)) return []
  const changed = messageOf(worker, CONDITION.certificateChanged)
  if (changed !== null)
    return [failure('cml', `${name}: ${changed}`, 'compare the fingerprint on the machine itself first')]
  const isSilentNow = stage !== null && stage !== READY
  if (service_status === 'AVAILABLE' && !isSilentNow) {
    const refused = conditionOf(worker, CONDITION.cmlAccessRefused)
    if (refused !== undefined) return [refusedCml(worker, refused)]
    const stale = messageOf(worker, CONDITION.metricsStale)
    return stale === null ? [] : [warning('cml', `metrics of ${name} are stale: ${stale}`, explain)]
  }
  const why = pendingStage(worker) ?? (isSilentNow ? answeredText(stage) : null)
  const place = https_endpoint === null ? '' : ` at ${https_endpoint}`
  const message = `CML on ${name} does not respond${place}${why === null ? '' : `: ${why}`}`
  if (service_status === 'STARTING') return [warning('cml', message, 'wait until it has booted')]
  const next =
    'open that address on the computer of the worker-controller. If it does not respond, check the security group (port 443) and ' +
    `CML_ADDRESS. If it does, ${explain}`
  return [down(worker, message, https_endpoint === null ? explain : next)]
}

function refusedCml({ name }: Worker, { reason }: Condition): Finding {
  const judge = FAULT_REASONS.includes(reason.code) ? failure : warning
  const advice = accessAdvice(reason, shellWord(name)) ?? `see \`lcm why worker ${shellWord(name)}\``
  return { ...judge('cml', `${name}: ${reason.message}`, advice), reason }
}

const conditionOf = ({ conditions }: Worker, type: string): Condition | undefined =>
  conditions.find(condition => condition.type === type && condition.status)

const messageOf = (worker: Worker, type: string): string | null => conditionOf(worker, type)?.reason.message ?? null

/** A record is older than the answer. */
const answeredText = (stage: string): string =>
  stage === 'NOTHING' ? 'it did not answer just now' : `it answers only up to the stage ${stage}`

/** What the boot waits for: the first stage that is not reached. */
const pendingStage = ({ conditions }: Worker): string | null =>
  conditions.find(({ status }) => !status)?.reason.message ?? null
