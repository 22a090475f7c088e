import type { Condition, LaunchAttempt, Worker } from '@lcm/domain/worker/worker'
import type { Colors } from './output.ts'
import { type Column, printable, tableLines } from './table.ts'
import { ageOf, inkOf, isBootStage, statusOf, waitsFor } from './worker-view.ts'

/** All there is to say of one worker, for reading. */
export function describeWorker(worker: Worker, nowMs: number, colors: Colors): string[] {
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', colors.bold(title), ...lines.map(line => `  ${line}`)]
  const stages = worker.conditions.filter(isBootStage)
  const others = worker.conditions.filter(condition => !isBootStage(condition))
  return [
    `${colors.bold(printable(worker.name))}  ${worker.id}`,
    ...factLines(worker, nowMs, colors).map(line => `  ${line}`),
    ...section(
      'Boot stages',
      stages.map(stage => stageLine(stage, nowMs, colors)),
    ),
    ...section('Conditions', conditionLines(others, nowMs)),
    ...section('Launch attempt', worker.launch === null ? [] : launchLines(worker.launch, nowMs)),
    ...section('History, newest first', historyLines(worker, nowMs)),
  ]
}

type Fact = readonly [name: string, text: string | null]

function factLines(worker: Worker, nowMs: number, colors: Colors): string[] {
  const facts: readonly Fact[] = [
    ['status', `${inkOf(worker.status, colors)(statusOf(worker))} for ${ageOf(worker.entered_status_at, nowMs)}`],
    ['waits', printable(waitsFor(worker))],
    ['wanted', printable(wantedBy(worker))],
    ['service', worker.service_status],
    ['endpoint', worker.https_endpoint],
    ['addresses', [worker.public_ip, worker.private_ip].filter(address => address !== null).join(', ')],
    ['machine', machineOf(worker)],
    ['place', worker.availability_zone ?? worker.aws_region],
    ['template', `${worker.template_name}, ${worker.cost_per_hour_usd.toFixed(2)} USD an hour`],
    ['cml', worker.cml.version],
    ['protected', worker.protected ? 'yes' : 'no'],
    ['tags', tagsOf(worker)],
    ['created', `${ageOf(worker.created_at, nowMs)} ago (${worker.origin})`],
    ['version', String(worker.version)],
  ]
  return facts.flatMap(([name, text]) => (text ? [`${colors.dim(name.padEnd(10))} ${text}`] : []))
}

const wantedBy = ({ desired_status, desired_by, desired_reason }: Worker): string =>
  `${desired_status} by ${desired_by}${desired_reason === '' ? '' : `: ${desired_reason}`}`

const machineOf = (worker: Worker): string =>
  [worker.ec2_instance_id, worker.instance_type, worker.ami_id].filter(part => part !== null).join(', ')

const tagsOf = ({ tags }: Worker): string =>
  printable(
    Object.entries(tags)
      .map(([key, value]) => `${key}=${value}`)
      .join(', '),
  )

function stageLine(stage: Condition, nowMs: number, colors: Colors): string {
  const mark = stage.status ? colors.green('✓') : colors.yellow('…')
  const since = ageOf(stage.since, nowMs)
  return `${mark} ${stage.type.padEnd(16)} ${since.padEnd(8)}${printable(stage.message)}`.trimEnd()
}

function conditionLines(conditions: readonly Condition[], nowMs: number): string[] {
  if (conditions.length === 0) return []
  const columns: readonly Column<Condition>[] = [
    { title: 'TYPE', text: condition => condition.type },
    { title: 'HOLDS', text: condition => (condition.status ? 'yes' : 'no') },
    { title: 'FOR', text: condition => ageOf(condition.since, nowMs) },
    { title: 'REASON', text: condition => condition.reason },
    { title: 'MESSAGE', text: condition => condition.message },
  ]
  return tableLines(columns, conditions)
}

function launchLines(launch: LaunchAttempt, nowMs: number): string[] {
  const { parameters } = launch
  return [
    `attempt ${launch.n} is ${launch.state}, asked for ${ageOf(launch.requested_at, nowMs)} ago`,
    `${parameters.instance_type} from ${parameters.image_id} in ${parameters.subnet_id}, ${parameters.root_volume_gb} GB disk`,
    ...(launch.error === null ? [] : [printable(launch.error)]),
  ]
}

function historyLines(worker: Worker, nowMs: number): string[] {
  return worker.state_history.toReversed().map(({ from, to, at, because }) => {
    const move = from === null ? to : `${from} -> ${to}`
    return printable(`${ageOf(at, nowMs).padEnd(8)}${move.padEnd(26)} ${because}`).trimEnd()
  })
}
