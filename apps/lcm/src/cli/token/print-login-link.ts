import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { invocation } from '../invocation.ts'
import { formatDuration } from '../terminal/duration.ts'

export function defineOpen(open: Command, shell: Shell): void {
  open
    .action(async (_: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client, url } = await connect()
      const link = await client.call('createLoginLink', { signal: shell.signal })
      output.out(new URL(link.url, url).href)
      output.note(`Open it in a browser within ${formatDuration(link.expires_in_seconds * 1000)}. The link works once.`)
    })
    .addHelpText(
      'afterAll',
      '\nExamples:\n  lcm open                  print a link to the console\n  xdg-open "$(lcm open -q)"',
    )
}
