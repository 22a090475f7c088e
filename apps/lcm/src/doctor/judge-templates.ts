import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import { INSTANCE_TYPES, PRICES_AS_OF } from '@lcm/domain/fleet/instance-types'
import { fitsNowhereBecause, type Holders, holdersOf } from '@lcm/domain/session/decide-scale-up'
import { demandOf } from '@lcm/domain/session/demand'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { priceText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import type { DefinitionSummary } from '../cli/definition/definition-view.ts'
import { shellWord } from '../cli/terminal/shell-word.ts'
import { type Finding, firstOf, ok, warning } from './finding.ts'

export interface TemplateFacts {
  readonly templates: readonly WorkerTemplate[]
  readonly workers: readonly Worker[]
  readonly definitions: readonly DefinitionSummary[]
}

export async function readTemplates(client: Client, signal: AbortSignal): Promise<TemplateFacts> {
  const [templates, workers, definitions] = await Promise.all([
    readList(query => client.call('listTemplates', { query, signal })),
    readList(query => client.call('listWorkers', { query, signal })),
    readList(query => client.call('listDefinitions', { query: { ...query, status: 'ACTIVE' }, signal })),
  ])
  return { templates: templates.items, workers: workers.items, definitions: definitions.items }
}

/** Definitions that nothing can run, and templates with a price far from the list price. */
export function judgeTemplates({ templates, workers, definitions }: TemplateFacts, nowMs: number): readonly Finding[] {
  const holders = holdersOf({ templates, workers, nowMs })
  const found = [
    ...firstOf(
      definitions.flatMap(each => ofDefinition(each, holders)),
      'list them with `lcm get definitions`',
    ),
    ...firstOf(templates.flatMap(ofPrice), 'list them with `lcm get templates`'),
  ]
  return found.length > 0 ? found : [ok('templates', 'every ACTIVE definition fits a template or a worker')]
}

function ofDefinition(definition: DefinitionSummary, holders: Holders): Finding[] {
  const because = fitsNowhereBecause(demandOf(definition), holders)
  if (because === null) return []
  const { name, definition_version } = definition
  const message = `definition ${name} ${definition_version}: ${because.message}`
  return [
    warning(
      'templates',
      message,
      `see \`lcm preview definition ${shellWord(name)}\`; add a template or a worker that fits`,
    ),
  ]
}

/** Contracts and regions differ from the list, but hardly by that much. */
const PRICE_FACTOR_MAX = 2

function ofPrice({ name, enabled, instance_types, cost_per_hour_usd }: WorkerTemplate): Finding[] {
  const [type = ''] = instance_types
  const list = INSTANCE_TYPES.get(type)?.cost_per_hour_usd
  if (!enabled || list === undefined) return []
  if (cost_per_hour_usd <= list * PRICE_FACTOR_MAX && cost_per_hour_usd >= list / PRICE_FACTOR_MAX) return []
  const message =
    `template ${name} costs ${priceText(cost_per_hour_usd)}; the list price of ${type} is ${priceText(list)} ` +
    `(us-east-1, on demand, ${PRICES_AS_OF})`
  return [warning('templates', message, 'correct its `cost_per_hour_usd` with `lcm apply` unless that is your price')]
}
