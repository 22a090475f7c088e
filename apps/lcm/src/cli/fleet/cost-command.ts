import { type Command, Option } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { costLines } from './cost-view.ts'
import { type Since, sinceArgument } from './since-option.ts'

interface CostOptions {
  readonly since: Since
  readonly output: Format
}

export function defineCost(cost: Command, shell: Shell): void {
  cost
    .addOption(
      new Option('--since <when>', 'Start of the period: an age such as 24h, or a date')
        .argParser(sinceArgument)
        .default(sinceArgument('7d'), '7d'),
    )
    .addOption(formatOption().default('table'))
    .action(async (options: CostOptions, command: Command) => showCost(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Shows the cost of each worker while booting, running sessions, idle and draining, the cost of its disk, and the amount saved by
pausing. Costs are estimated from hourly prices, not from the AWS bill.

Examples:
  lcm cost                       the last 7 days, by worker
  lcm cost --since 24h
  lcm cost --since 2026-01-01 -o json | jq .by_cause`

async function showCost({ since, output: format }: CostOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { client } = await connect()
  const query = { since: since(shell.clock.now()) }
  const cost = await client.call('getFleetCost', { query, signal: shell.signal })
  const names = () => cost.items.map(({ name, worker_id }) => name ?? worker_id)
  await printDocument({ data: cost, names, lines: colors => costLines(cost, colors) }, format, output)
}
