import { DEFINITIONS } from '../kinds.ts'
import { impossible, reached, underWay, type Verdict, type Waited } from '../wait.ts'
import type { Settling } from '../wait-until-settled.ts'
import type { DefinitionSummary } from './definition-view.ts'

/** Whether its topology was fetched. */
function judge({ sync }: DefinitionSummary): Verdict {
  if (sync.status === 'requested') return underWay
  return sync.status === 'failed' ? impossible(`could not be fetched: ${sync.error}`) : reached
}

const waitedSync = (start: DefinitionSummary): Waited<DefinitionSummary> => ({
  start,
  noun: 'definition',
  name: `definition ${start.name}`,
  handle: start.id,
  mayVanish: false,
  read: (client, signal) => client.call('getDefinition', { params: { id: start.id }, signal }),
  changed: DEFINITIONS.changed,
  deleted: DEFINITIONS.deleted,
  judge,
  progressText: ({ name, status, source }) => `definition ${name} is ${status}: ${source} is fetched`,
})

export const SYNC_SETTLING: Settling<DefinitionSummary> = {
  view: DEFINITIONS.view,
  waited: waitedSync,
  outcome: ({ name, definition_version, status }, elapsed) => ({
    sentence: `definition ${name} ${definition_version} was fetched and is ${status} after ${elapsed}`,
    lines: [],
  }),
}
