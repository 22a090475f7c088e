import { type Command, Option } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { fleetSnapshot } from './fleet-snapshot.ts'
import { liveTop } from './live-top.ts'
import { NO_WORKERS, SORTS, type Sort, snapshotLines, topOf } from './top-view.ts'

interface TopOptions {
  readonly sort: Sort
  readonly output?: Format
}

export function defineTop(top: Command, shell: Shell): void {
  top
    .addOption(new Option('--sort <column>', 'Sort order').choices(SORTS).default('cpu'))
    .addOption(formatOption())
    .action(async (options: TopOptions, command: Command) => showTop(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
On a terminal, the view updates until you press q or Ctrl-C. With -o, or if the output is not a terminal, it is printed once.

Examples:
  lcm top                      show load and cost of the fleet, live
  lcm top --sort idle          longest idle first
  lcm top -o json | jq '.items[] | select(.cpu > 80) | .name'`

async function showTop({ sort, output: format }: TopOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { clock, signal, keys } = shell
  const { client } = await connect()
  if (format === undefined && output.stdout.isTty) return liveTop({ client, clock, signal, output, keys, sort })
  const picture = fleetSnapshot()
  await picture.refresh(client, signal)
  const data = topOf(picture, sort, clock.now())
  const names = () => data.items.map(({ name }) => name)
  await printDocument({ data, names, lines: colors => snapshotLines(data, colors) }, format ?? 'table', output)
  if (data.items.length === 0 && (format ?? 'table') === 'table') output.note(NO_WORKERS)
}
