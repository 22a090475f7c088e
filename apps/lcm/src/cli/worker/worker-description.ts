import { priceText } from '@lcm/domain/text/format-amounts'
import { awaitsApproval } from '@lcm/domain/worker/instance-trust'
import type { Condition, LaunchAttempt, Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import {
  conditionLines,
  type Fact,
  factLines,
  healthText,
  historyLines,
  section,
} from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { printable } from '../terminal/table.ts'
import { drainText, type SlotEnds } from './drain-wait-goal.ts'
import { ageOf, isBootStage, statusOf, waitsFor } from './worker-view.ts'

/** The complete description of a worker. */
export function describeWorker(worker: Worker, nowMs: number, colors: Colors, ends?: SlotEnds): string[] {
  const part = (title: string, lines: readonly string[]) => section(title, lines, colors)
  const stages = worker.conditions.filter(isBootStage)
  const current = stages.find(({ status }) => !status)
  const others = worker.conditions.filter(condition => !isBootStage(condition))
  return [
    `${colors.bold(printable(worker.name))}  ${worker.id}`,
    ...factLines(factsOf(worker, nowMs, colors, ends), colors),
    ...part(
      'Boot stages',
      stages.map(stage => stageLine(stage, stage === current, nowMs, colors)),
    ),
    ...part('Conditions', conditionLines(others, nowMs)),
    ...part('Launch attempt', worker.launch === null ? [] : launchLines(worker.launch, nowMs)),
    ...part('History, newest first', historyLines(worker.state_history, nowMs)),
  ]
}

const factsOf = (worker: Worker, nowMs: number, colors: Colors, ends?: SlotEnds): readonly Fact[] => [
  ['status', `${statusColor(worker.status, colors)(statusOf(worker))} for ${ageOf(worker.entered_status_at, nowMs)}`],
  ['health', healthText(workerHealth(worker), nowMs, colors)],
  ['progress', printable(waitsFor(worker))],
  ['desired', printable(wantedBy(worker))],
  ['drain', worker.drain === null ? null : drainText(worker, worker.drain, nowMs, ends)],
  ['sessions', Object.keys(worker.reservations).join(', ')],
  ['service', worker.service_status],
  ['endpoint', worker.https_endpoint],
  ['addresses', [worker.public_ip, worker.private_ip].filter(address => address !== null).join(', ')],
  ['machine', machineOf(worker)],
  ['zone', worker.availability_zone ?? worker.aws_region],
  ['template', `${worker.template_name}, ${priceText(worker.cost_per_hour_usd)}`],
  ['disk', worker.disk === null ? null : `${worker.disk.gb} GB, ${priceText(worker.disk.usd_per_hour)}`],
  ['approval', printable(approvalText(worker))],
  ['cert', worker.cml.certificate_sha256],
  ['cert seen', worker.cml.seen_certificate_sha256],
  ['cml', worker.cml.version],
  ['license', printable(licenseOf(worker))],
  ['protected', worker.protected ? 'yes' : 'no'],
  ['cordoned', worker.cordoned ? 'yes' : null],
  ['labels', pairsOf(worker.labels)],
  ['tags', pairsOf(worker.tags)],
  ['created', `${ageOf(worker.created_at, nowMs)} ago (${worker.origin})`],
  ['version', String(worker.version)],
]

const wantedBy = ({ desired_status, desired_by, desired_reason }: Worker): string =>
  `${desired_status} by ${desired_by}${desired_reason === '' ? '' : `: ${desired_reason}`}`

function approvalText(worker: Worker): string {
  const { state, by, at } = worker.approval
  if (awaitsApproval(worker)) return `required: run \`lcm approve worker ${worker.id}\``
  if (state === 'migrated') return 'approved, as it was in use before approvals existed'
  return state === 'approved' ? `by ${by} at ${at}` : ''
}

function licenseOf({ license: { status, product, pending_operation, last_error } }: Worker): string {
  if (status === 'UNREGISTERED' && product === null && pending_operation === null) return ''
  const operation = pending_operation === null ? null : `${pending_operation} requested`
  return [status, product, operation, last_error].filter(part => part !== null).join(', ')
}

const machineOf = (worker: Worker): string =>
  [worker.ec2_instance_id, worker.instance_type, worker.ami_id].filter(part => part !== null).join(', ')

const pairsOf = (pairs: Readonly<Record<string, string>>): string =>
  printable(
    Object.entries(pairs)
      .map(([key, value]) => `${key}=${value}`)
      .join(', '),
  )

/** Only the current stage has something to wait for. */
function stageLine(stage: Condition, isCurrent: boolean, nowMs: number, colors: Colors): string {
  const mark = stage.status ? colors.green('✓') : colors.yellow('…')
  const since = ageOf(stage.since, nowMs)
  return `${mark} ${stage.type.padEnd(16)} ${since.padEnd(8)}${isCurrent ? printable(stage.reason.message) : ''}`.trimEnd()
}

function launchLines(launch: LaunchAttempt, nowMs: number): string[] {
  const { parameters } = launch
  return [
    `attempt ${launch.n} is ${launch.state}, requested ${ageOf(launch.requested_at, nowMs)} ago`,
    `${parameters.instance_type} from ${parameters.image_id} in ${parameters.subnet_id}, ${parameters.root_volume_gb} GB disk`,
    ...(launch.error === null ? [] : [printable(launch.error)]),
  ]
}
