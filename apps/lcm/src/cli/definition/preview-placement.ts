import type { Command } from 'commander'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { findDefinition } from './find.ts'
import { previewLines } from './placement-preview.ts'

export function definePreview(group: Command, shell: Shell): void {
  group
    .command('definition <id>')
    .alias('definitions')
    .description('Show where a session would be placed now, and why other workers are rejected')
    .option('--json', 'Print the API response as JSON')
    .action(async (idOrName: string, { json = false }: { json?: boolean }, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const definition = await findDefinition(client, idOrName, shell.signal)
      const preview = await client.call('previewPlacement', { params: { id: definition.id }, signal: shell.signal })
      if (json) output.out(JSON.stringify(preview, null, 2))
      else previewLines(definition, preview, output.colors).forEach(output.out)
    })
  group.addHelpText('afterAll', '\nExamples:\n  lcm preview definition bgp-basics')
}
