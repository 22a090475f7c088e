import { toMs } from '@lcm/domain/instant'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import type { Next } from '@lcm/domain/next-step'
import { type Reason, type ReasonCode, sameReason } from '@lcm/domain/reason'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { accessAdvice } from '@lcm/domain/worker/decision/cml-access'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import { POLICY } from '@lcm/domain/worker/lifecycle'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import { type WorkerNextCode, workerNextText } from '@lcm/domain/worker/worker-next-step'
import { decisionLines, decisionText, guardLines, IN_USE, moveText, type Reader, sentence } from '../decision-text.ts'
import { healthLine, section } from '../terminal/description-sections.ts'
import { formatDuration } from '../terminal/duration.ts'
import type { Colors } from '../terminal/output.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { statusColor } from '../terminal/status-color.ts'
import { printable } from '../terminal/table.ts'
import { ageOf, isBootStage } from './worker-view.ts'

export interface Explained {
  readonly worker: Worker
  /** Newest first. */
  readonly decisions: readonly DecisionRecord[]
  readonly plan: PlannedAction | null
  readonly next: Next<WorkerNextCode>
  /** The steps that the calendar has for it. */
  readonly planned: readonly string[]
}

/** Explains the status of a worker, what happens next, and what the user can do. */
export function explainWorker(
  { worker, decisions, next, planned }: Explained,
  reader: Reader,
  colors: Colors,
): string[] {
  const { nowMs, isVerbose } = reader
  const part = (title: string, lines: readonly string[]) => section(title, lines.map(printable), colors)
  const status = statusColor(worker.status, colors)(worker.status)
  const health = workerHealth(worker)
  const nextLine = workerNextText(next, { nowMs, duration: formatDuration })
  return [
    `${colors.bold(printable(worker.name))} has been ${status} for ${ageOf(worker.entered_status_at, nowMs)}.`,
    ...healthLine(health, nowMs, colors),
    ...part('Why', reasons(worker, decisions, reader)),
    ...part('Desired', [wantedOf(worker, nowMs)]),
    ...part('Next', [nextLine]),
    ...part('Plan', planned),
    ...part('Problems', obstaclesOf(worker, next, nowMs)),
    ...part('What you can do', adviceFor(worker)),
    ...part('Decisions, newest first', decisionLines(decisions, nowMs, isVerbose)),
  ]
}

/** The last transition, and the newest decision unless it repeats it. */
function reasons(worker: Worker, decisions: readonly DecisionRecord[], { nowMs, isVerbose }: Reader): string[] {
  const paused = pausedLines(worker, decisions, { nowMs, isVerbose })
  const led = paused ?? movedLines(worker, nowMs)
  const last = decisions.find(({ action }) => action !== IN_USE)
  const isRepeated =
    last === undefined ||
    (paused !== null && last === pauseIn(decisions)) ||
    worker.state_history.slice(-2).some(({ because }) => sameReason(because, last.because)) ||
    worker.conditions.some(({ status, reason }) => status && sameReason(reason, last.because))
  return isRepeated ? led : [...led, ...decisionText(last, { nowMs, isVerbose })]
}

const CREATED: ReasonCode = 'worker_created'
/** The reason of the first desired status, which the creator set. */
const DESIRED_AT_CREATION = 'created'

function movedLines(worker: Worker, nowMs: number): string[] {
  const { state_history, desired_by, desired_reason } = worker
  const moved = state_history.at(-1)
  if (moved === undefined) return []
  if (moved.from === null && moved.because.code === CREATED) {
    const by = desired_reason === DESIRED_AT_CREATION && desired_by !== '' ? ` by ${desired_by}` : ''
    return [`It was created${by} ${ageOf(moved.at, nowMs)} ago.`]
  }
  const before = state_history.at(-2)
  // The confirmation by EC2 is not a reason; the transition before it is.
  if (moved.to !== 'STOPPED' || before?.to !== 'STOPPING') return [moveText(moved)]
  return [moveText(before), confirmedAfter(toMs(moved.at) - toMs(before.at))]
}

const confirmedAfter = (ms: number): string => `EC2 confirmed the stop after ${formatDuration(ms)}.`

const pauseIn = (decisions: readonly DecisionRecord[]): DecisionRecord | undefined =>
  decisions.find(({ action }) => action === 'pause' || action === 'drain')

/** Null unless the idle policy paused the worker. */
function pausedLines(worker: Worker, decisions: readonly DecisionRecord[], reader: Reader): string[] | null {
  const { pause, desired_status, desired_by, desired_reason, state_history } = worker
  if (desired_status !== 'STOPPED' || desired_by !== POLICY.idle || pause.last_paused_at === null) return null
  const decision = pauseIn(decisions)
  const moved = state_history.at(-1)
  return [
    sentence(`The idle policy paused it ${ageOf(pause.last_paused_at, reader.nowMs)} ago: ${desired_reason}`),
    ...(decision === undefined ? [] : guardLines(decision, reader.isVerbose)),
    ...(moved?.to === 'STOPPED' ? [confirmedAfter(toMs(moved.at) - toMs(pause.last_paused_at))] : []),
  ]
}

function wantedOf(worker: Worker, nowMs: number): string {
  const { desired_status, desired_by, desired_reason, desired_at, desired_until, drain } = worker
  const why = desired_reason === '' ? '' : `: ${desired_reason}`
  const since = desired_at === null ? '' : `, since ${ageOf(desired_at, nowMs)} ago`
  const until =
    desired_until !== null && toMs(desired_until) > nowMs
      ? `; policies can't change this for another ${formatDuration(toMs(desired_until) - nowMs)}`
      : ''
  const draining = drain === null ? '' : `; draining by ${drain.by}, then ${drain.then}`
  return `${desired_status} by ${desired_by}${why}${since}${until}${draining}`
}

/** Without the condition that the next step already names. */
const obstaclesOf = (worker: Worker, next: Next<WorkerNextCode>, nowMs: number): string[] => [
  ...worker.conditions
    .filter(condition => condition.status && !isBootStage(condition) && condition.type !== next.blocked_by?.code)
    .map(({ type, reason, since }) => `${type} for ${ageOf(since, nowMs)}: ${reason.message}`),
  ...(worker.license.last_error === null ? [] : [`License: ${worker.license.last_error}`]),
]

type Advice = readonly [command: string, meaning: string]

/** Aligns commands and their meanings in two columns. */
function aligned(rows: readonly Advice[]): string[] {
  const width = Math.max(...rows.map(([command]) => command.length))
  return rows.map(([command, meaning]) => `${command.padEnd(width)}    ${meaning}`)
}

function adviceFor(worker: Worker): string[] {
  const { status, desired_status, template_name: template } = worker
  const name = shellWord(worker.name)
  const giveUp: Advice = [`lcm terminate worker ${name}`, 'terminate it']
  if (status === 'FAILED')
    return aligned([
      [`lcm retry worker ${name}`, 'retry the failed step'],
      [`lcm terminate worker ${name}`, 'terminate it'],
      [`lcm describe worker ${name}`, 'show its boot stages and launch'],
    ])
  if (status === 'TERMINATED' && desired_status !== 'TERMINATED')
    return [
      ...aligned([[`lcm create worker --template ${template} --name ${name}`, 'replace it']]),
      `set replace_lost: true in template ${template} to replace lost workers automatically`,
    ]
  const approval = awaitsApproval(worker) ? approvalAdvice(worker, name) : []
  if (approval.length > 0 && status !== 'STOPPED') return approval
  const blocked = worker.conditions.find(({ type, status: isSo }) => type === CONDITION.blocked && isSo)
  if (blocked !== undefined) return unblockingAdvice(worker, blocked.reason, giveUp)
  const refused = worker.conditions.find(({ type, status: isSo }) => type === CONDITION.cmlAccessRefused && isSo)
  const access = refused === undefined ? null : accessAdvice(refused.reason, name)
  if (access !== null) return [access]
  const paused = worker.pause.reason !== null && desired_status === 'STOPPED'
  if (paused || (status === 'STOPPED' && desired_status === 'STOPPED'))
    return [...aligned([[`lcm start worker ${name}`, 'start it again']]), ...approval]
  return status === 'PENDING' && desired_status === 'STOPPED'
    ? aligned([[`lcm start worker ${name}`, 'launch it']])
    : []
}

/** With the certificate to compare. */
function approvalAdvice({ cml, secret_refs }: Worker, name: string): string[] {
  const seen = cml.seen_certificate_sha256
  const pin = seen === null ? '' : ` --fingerprint ${seen}`
  const trusting = seen === null ? 'you know who launched it' : 'this is the fingerprint of its certificate'
  const login = aligned([[`lcm set credentials ${name}`, 'first, if its owner must not learn CML_DEFAULT_PASSWORD']])
  return [
    ...(secret_refs.cml_login === undefined ? login : []),
    ...aligned([[`lcm approve worker ${name}${pin}`, `approve it, if ${trusting}`]]),
  ]
}

function unblockingAdvice({ template_name: template, status }: Worker, { code }: Reason, giveUp: Advice): string[] {
  const shown = `lcm get template ${template} -o yaml`
  switch (code as ReasonCode) {
    case 'ec2_no_capacity':
      // An existing machine can only start in the zone of its disk.
      if (status !== 'PENDING') return aligned([giveUp])
      return aligned([
        [shown, 'check its instance types and subnets; add others to widen the search'],
        [`lcm create worker --template ${template} --region REGION`, 'try another region'],
        giveUp,
      ])
    case 'ec2_read_failed':
    case 'ec2_not_responding':
      return ['check the network and the AWS status page; LCM retries automatically', ...aligned([giveUp])]
    case 'launch_input_missing':
      return aligned([[shown, 'check its template'], giveUp])
    default:
      return [
        'raise the quota or fix the permissions of the AWS account; LCM retries automatically',
        ...aligned([giveUp]),
      ]
  }
}
