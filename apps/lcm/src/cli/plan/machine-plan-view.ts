import type { Client } from '@lcm/client/client'
import { PLAN_ROUTES, type PlanView } from '@lcm/contract/calendar/plan'
import { mayCall } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { toMs } from '@lcm/domain/instant'
import type { PlannedMachine, PlannedStep } from '@lcm/domain/plan/plan'
import { countText, momentText, usdText } from '@lcm/domain/text/format-amounts'
import type { Colors } from '../terminal/output.ts'
import { type Column, columnWidths, printable, rowLines } from '../terminal/table.ts'
import type { WorkerNames } from '../worker/worker-names.ts'

const STEP_WORDS: Readonly<Record<PlannedStep['kind'], string>> = {
  buy: 'buy',
  wake: 'wake',
  stay: 'stay on',
  stop: 'stop',
  terminate: 'terminate',
}

interface Row extends PlannedStep {
  readonly machine: string
}

/** The plan of the calendar; null for people who may not read it. */
export const readMachinePlan = async (
  client: Client,
  actor: Omit<Actor, 'service'>,
  signal: AbortSignal,
): Promise<PlanView | null> =>
  mayCall({ ...actor, service: null }, PLAN_ROUTES.getPlan.access) ? client.call('getPlan', { signal }) : null

/** One line per step of a machine, by time, and the sessions without a machine. */
export function machinePlanLines(plan: PlanView, names: WorkerNames, nowMs: number, colors: Colors): string[] {
  const { machines, unplaced, until, usd, is_current, left_out } = plan
  const rows = machines
    .flatMap(machine => machine.steps.map((step): Row => ({ ...step, machine: nameOf(machine, names) })))
    .toSorted((a, b) => toMs(a.at) - toMs(b.at))
  if (rows.length + unplaced.length === 0) return []
  const columns = stepColumns(nowMs)
  const stale = is_current ? '' : `; ${colors.yellow('stale: its scheduler does not confirm it')}`
  const cut = left_out.machines + left_out.steps
  return [
    `${colors.bold('calendar')}  ${countText(machines.length, 'machine')} until ${momentText(until)}, ${usdText(usd)}${stale}`,
    ...rowLines(columns, rows, columnWidths(columns, rows)).map(line => `  ${line}`),
    ...unplaced.map(({ session_id, because }) => printable(`  no machine for ${session_id}: ${because.message}`)),
    ...(cut > 0 ? [`  ${countText(cut, 'later step')} left out`] : []),
  ]
}

const nameOf = ({ worker_id, template_name }: PlannedMachine, names: WorkerNames): string =>
  worker_id === null ? `new ${template_name}` : names.of(worker_id)

const whenOf = ({ at }: PlannedStep, nowMs: number): string => (toMs(at) <= nowMs ? 'now' : momentText(at))

const stepColumns = (nowMs: number): readonly Column<Row>[] => [
  { title: '', text: step => whenOf(step, nowMs) },
  { title: '', text: ({ kind }) => STEP_WORDS[kind] },
  { title: '', text: ({ machine }) => machine },
  { title: '', text: ({ usd }) => (usd === 0 ? '' : usdText(usd)), isNumber: true },
  { title: '', text: ({ because }) => because.message },
]

/** What the plan has for one worker. */
export const workerPlanLines = (plan: PlanView | null, workerId: string, nowMs: number): string[] =>
  (plan?.machines.find(({ worker_id }) => worker_id === workerId)?.steps ?? []).map(
    step => `${whenOf(step, nowMs)}: ${STEP_WORDS[step.kind]}; ${step.because.message}`,
  )
