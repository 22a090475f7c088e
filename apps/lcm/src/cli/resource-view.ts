import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Worker } from '@lcm/domain/worker/worker'
import { type DefinitionSummary, definitionColumns } from './definition/definition-view.ts'
import { labColumns } from './lab/lab-view.ts'
import { leakColumns } from './leak/leak-view.ts'
import type { Format } from './option-parsers.ts'
import { type ServiceRecord, serviceColumns } from './service/service-view.ts'
import { sessionColumns } from './session/session-view.ts'
import { templateColumns } from './template/template-view.ts'
import { toJson, toYaml } from './terminal/data-text.ts'
import type { Colors, Output } from './terminal/output.ts'
import { type Column, printable, tableLines } from './terminal/table.ts'
import { workerColumns } from './worker/worker-view.ts'

/** Fields that all resources have. */
export interface Resource {
  readonly id: string
  readonly version: number
}

export interface ResourceView<T extends Resource> {
  /** The name that commands accept for an item, if it is unique. */
  readonly nameOf: (item: T) => string
  readonly columns: (nowMs: number, colors: Colors) => readonly Column<T>[]
  /** Printed instead of an empty table. */
  readonly whenEmpty: string
}

export const WORKER_VIEW: ResourceView<Worker> = {
  nameOf: worker => worker.name,
  columns: workerColumns,
  whenEmpty: 'no workers found: create one with `lcm create worker --template NAME`',
}

export const TEMPLATE_VIEW: ResourceView<WorkerTemplate> = {
  nameOf: template => template.name,
  columns: templateColumns,
  whenEmpty: 'no templates found: create one with `lcm create template -f FILE`',
}

export const DEFINITION_VIEW: ResourceView<DefinitionSummary> = {
  nameOf: definition => definition.name,
  columns: definitionColumns,
  whenEmpty: 'no definitions found: create one with `lcm create definition --file lab.yaml`',
}

export const SESSION_VIEW: ResourceView<LabletSession> = {
  nameOf: session => session.id,
  columns: (nowMs, colors) => sessionColumns(nowMs, colors),
  whenEmpty: 'no sessions found: book one with `lcm book DEFINITION`',
}

export const LAB_VIEW: ResourceView<LabRecord> = {
  nameOf: lab => lab.id,
  columns: (nowMs, colors) => labColumns(nowMs, colors),
  whenEmpty: 'no labs found: sessions create labs, and labs that others create in CML are discovered within 30 minutes',
}

export const SERVICE_VIEW: ResourceView<ServiceRecord> = {
  nameOf: ({ service }) => service,
  columns: serviceColumns,
  whenEmpty: 'no services found: no controller has registered with this LCM',
}

export const LEAK_VIEW: ResourceView<LicenseLeak> = {
  nameOf: leak => leak.id,
  columns: leakColumns,
  whenEmpty: 'no leaks found: every license was deregistered before its machine was terminated',
}

export interface Printing {
  readonly output: Output
  readonly format: Format
  readonly nowMs: number
}

export async function printList<T extends Resource>(view: ResourceView<T>, items: readonly T[], printing: Printing) {
  const { output, format, nowMs } = printing
  switch (format) {
    case 'json':
      return output.out(toJson({ items }, 2))
    case 'yaml':
      return output.out(await toYaml({ items }))
    case 'name':
      return handlesOf(view, items).forEach(output.out)
    case 'table':
      if (items.length === 0) return output.note(view.whenEmpty)
      return tableLines(view.columns(nowMs, output.colors), items).forEach(output.out)
  }
}

export async function printOne<T extends Resource>(view: ResourceView<T>, item: T, printing: Printing) {
  const { output, format } = printing
  if (format === 'json') return output.out(toJson(item, 2))
  if (format === 'yaml') return output.out(await toYaml(item))
  return printList(view, [item], printing)
}

/** The ID argument for each item: its name if that is unique and can be printed, otherwise its id. */
export function handlesOf<T extends Resource>({ nameOf }: ResourceView<T>, items: readonly T[]): string[] {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1)
  return items.map(item => {
    const name = nameOf(item)
    return counts.get(name) === 1 && printable(name) === name ? name : item.id
  })
}

/** One change as a line of JSON, a YAML document or a name. */
export async function changeText<T extends Resource>(
  { nameOf }: ResourceView<T>,
  item: T,
  format: Exclude<Format, 'table'>,
): Promise<string> {
  if (format === 'json') return toJson(item)
  return format === 'yaml' ? `---\n${await toYaml(item)}` : printable(nameOf(item))
}
