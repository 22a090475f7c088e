import { type Command, Option } from 'commander'
import { type Format, formatOption, type Invocation, invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { printDocument } from '../terminal/print-document.ts'
import { type Since, sinceArgument } from '../terminal/since.ts'
import { costLines } from './cost-view.ts'

interface CostOptions {
  readonly since: Since
  readonly output: Format
}

export function defineCost(cost: Command, shell: Shell): void {
  cost
    .addOption(
      new Option('--since <when>', 'from when on: how long ago, or a date')
        .argParser(sinceArgument)
        .default(sinceArgument('7d'), '7d'),
    )
    .addOption(formatOption().default('table'))
    .action(async (options: CostOptions, command: Command) => showCost(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
What a worker costs while it boots, serves sessions, is idle or is drained, and what it would have cost if it had not been
paused. Figures are those of its template; ask AWS for the bill.

Examples:
  lcm cost                       the last seven days, by worker
  lcm cost --since 24h
  lcm cost --since 2026-01-01 -o json | jq .by_cause`

async function showCost({ since, output: format }: CostOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { client } = await connect()
  const query = { since: since(shell.clock.now()) }
  const cost = await client.call('getFleetCost', { query, signal: shell.signal })
  const names = () => cost.items.map(({ name, worker_id }) => name ?? worker_id)
  await printDocument({ told: cost, names, lines: colors => costLines(cost, colors) }, format, output)
}
