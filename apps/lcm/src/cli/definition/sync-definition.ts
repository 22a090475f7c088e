import type { Command } from 'commander'
import { type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { addSettleOptions, type SettleOptions, settle } from '../wait-until-settled.ts'
import { SYNC_SETTLING } from './definition-wait.ts'
import { findDefinition } from './find.ts'

interface SyncOptions extends SettleOptions {
  readonly reason?: string
}

export function defineSync(group: Command, shell: Shell): void {
  const noun = group
    .command('definition <id>')
    .alias('definitions')
    .description('Fetch the topology of a definition from its source; a change creates its next version')
    .option('--reason <text>', 'Reason, recorded in the audit log')
    .action(async (idOrName: string, options: SyncOptions, command: Command) =>
      sync(idOrName, options, invocation(command, shell)),
    )
  addSettleOptions(noun)
  group.addHelpText('afterAll', '\nExamples:\n  lcm sync definition bgp-basics --wait')
}

async function sync(idOrName: string, options: SyncOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  const { id } = await findDefinition(client, idOrName, signal)
  const call = { params: { id }, body: { reason: options.reason }, signal }
  const definition = await client.call('syncDefinition', call)
  const message = `definition ${definition.name} ${definition.definition_version} (${id}) will be fetched from ${definition.source}`
  return settle({ client, item: definition, settling: SYNC_SETTLING, message }, options, invoked)
}
