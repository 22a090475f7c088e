import { changedAt, type LabRecord } from '@lcm/domain/lab/lab-record'
import { countText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import { type Fact, factLines, section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { statusColor } from '../terminal/status-color.ts'
import { type Column, printable } from '../terminal/table.ts'
import { ageOf } from '../worker/worker-view.ts'
import { labStatusText } from './lab-view.ts'

export interface DescribedLab {
  readonly lab: LabRecord
  readonly workerLabel: string | null
  /** Null if the worker is unknown. */
  readonly worker: Worker | null
}

/** The complete description of a lab. */
export function describeLab({ lab, workerLabel, worker }: DescribedLab, nowMs: number, colors: Colors): string[] {
  const part = (title: string, lines: readonly string[]) => section(title, lines, colors)
  const status = statusColor(lab.status, colors)(labStatusText(lab, worker, nowMs))
  const facts: readonly Fact[] = [
    ['status', lab.raw_state === null ? status : `${status} (CML: ${printable(lab.raw_state)})`],
    ['pending', askedOf(lab, nowMs)],
    ['error', lab.last_error === null ? null : printable(lab.last_error)],
    ['worker', printable(workerLabel ?? lab.worker_id)],
    ['session', lab.session_id],
    ['definition', lab.definition_id],
    ['cml id', lab.lab_id === null ? 'not imported yet' : printable(lab.lab_id)],
    ['owner', lab.owner === null ? null : printable(lab.owner)],
    ['origin', lab.source === 'IMPORT' ? 'created by LCM' : 'discovered on the worker'],
    ['size', `${countText(lab.node_count, 'node')}, ${countText(lab.link_count, 'link')}`],
    ['changed', `${ageOf(changedAt(lab), nowMs)} ago`],
    ['last seen', `${ageOf(lab.last_seen_at, nowMs)} ago, first ${ageOf(lab.first_seen_at, nowMs)} ago`],
    ['version', String(lab.version)],
  ]
  return [
    `${colors.bold(printable(lab.title))}  ${lab.id}`,
    ...factLines(facts, colors),
    ...part('Nodes', tableOf(NODE_COLUMNS, lab.nodes)),
    ...part('Ports', tableOf(PORT_COLUMNS, Object.entries(lab.ports))),
    ...part('Runs, newest first', tableOf(runColumns(nowMs), lab.runs.toReversed())),
  ]
}

function askedOf({ pending_action }: LabRecord, nowMs: number): string | null {
  if (pending_action === null) return null
  const { action, by, at, attempts, error } = pending_action
  const tries = attempts > 1 ? `, try ${attempts}` : ''
  return printable(`${action} by ${by}, ${ageOf(at, nowMs)} ago${tries}${error === null ? '' : `: ${error}`}`)
}

const NODE_COLUMNS: readonly Column<LabRecord['nodes'][number]>[] = [
  { title: 'LABEL', text: node => node.label },
  { title: 'KIND', text: node => node.node_definition },
  { title: 'STATE', text: node => node.state },
]

const PORT_COLUMNS: readonly Column<[name: string, port: number]>[] = [
  { title: 'NAME', text: ([name]) => name },
  { title: 'PORT', text: ([, port]) => String(port) },
]

const runColumns = (nowMs: number): readonly Column<LabRecord['runs'][number]>[] => [
  { title: 'STARTED', text: run => `${ageOf(run.started_at, nowMs)} ago` },
  { title: 'ENDED', text: run => (run.stopped_at === null ? '' : `${ageOf(run.stopped_at, nowMs)} ago`) },
  { title: 'SESSION', text: run => run.session_id ?? '' },
  { title: 'REASON', text: run => run.reason.message },
]
