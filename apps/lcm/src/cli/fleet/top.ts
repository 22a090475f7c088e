import { type Command, Option } from 'commander'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { printDocument } from '../terminal/print-document.ts'
import { fleetPicture } from './fleet-snapshot.ts'
import { liveTop } from './live-top.ts'
import { NO_WORKERS, SORTS, type Sort, snapshotLines, topOf } from './top-view.ts'

interface TopOptions {
  readonly sort: Sort
  readonly output?: Format
}

export function defineTop(top: Command, shell: Shell): void {
  top
    .addOption(new Option('--sort <what>', 'who comes first').choices(SORTS).default('cpu'))
    .addOption(formatOption())
    .action(async (options: TopOptions, command: Command) => showTop(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
On a terminal it is kept up to date until q or Ctrl-C; with -o, or where the output is no terminal, it is one look.

Examples:
  lcm top                      the fleet, live: how busy it is and what it costs
  lcm top --sort idle          who has been idle longest first
  lcm top -o json | jq '.items[] | select(.cpu > 80) | .name'`

async function showTop({ sort, output: format }: TopOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { clock, signal, keys } = shell
  const { client } = await connect()
  if (format === undefined && output.stdout.isTty) return liveTop({ client, clock, signal, output, keys, sort })
  const picture = fleetPicture()
  await picture.look(client, signal)
  const told = topOf(picture, sort, clock.now())
  const names = () => told.items.map(({ name }) => name)
  await printDocument({ told, names, lines: colors => snapshotLines(told, colors) }, format ?? 'table', output)
  if (told.items.length === 0 && (format ?? 'table') === 'table') output.note(NO_WORKERS)
}
