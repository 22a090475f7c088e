import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findDefinition } from '../find-resource.ts'
import type { Invocation } from '../invocation.ts'
import { DEFINITIONS } from '../resource-kinds.ts'
import { impossible, reached, underWay, type Verdict, type Waited } from '../wait-for-goal.ts'
import { type ActionOptions, addAction, type Settling, settle } from '../waitable-command.ts'
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

const SYNC_SETTLING: Settling<DefinitionSummary> = {
  view: DEFINITIONS.view,
  waited: waitedSync,
  outcome: ({ name, definition_version, status }, elapsed) => ({
    sentence: `definition ${name} ${definition_version} was fetched and is ${status} after ${elapsed}`,
    lines: [],
  }),
}

export function defineSync(group: Command, shell: Shell): void {
  addAction(group, shell, {
    noun: 'definition',
    summary: 'Fetch the topology of a definition from its source; a change creates its next version',
    run: sync,
  })
  group.addHelpText('afterAll', '\nExamples:\n  lcm sync definition bgp-basics --wait')
}

async function sync(idOrName: string, options: ActionOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const { id } = await findDefinition(client, idOrName, signal)
  const call = { params: { id }, body: { reason: options.reason }, signal }
  const definition = await client.call('syncDefinition', call)
  const message = `definition ${definition.name} ${definition.definition_version} (${id}) will be fetched from ${definition.source}`
  return settle({ client, item: definition, settling: SYNC_SETTLING, message }, options, invoked)
}
