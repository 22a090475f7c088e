import type { Command } from 'commander'
import type { Shell } from './command-dependencies.ts'
import { referencePage } from './reference-page.ts'

/** Prints docs/reference/cli.md without the `hidden` commands. */
export const referenceOf =
  (hidden: ReadonlySet<string>) =>
  (command: Command, shell: Shell, whole: () => Promise<Command>): void => {
    command
      .action(async () => shell.stdout.write(referencePage(await whole(), hidden)))
      .addHelpText('afterAll', '\nExamples:\n  lcm __reference > docs/reference/cli.md')
  }
