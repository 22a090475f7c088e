import type { Client } from '@lcm/client/client'
import { mayCall } from '@lcm/contract/route-spec'
import { ROUTES } from '@lcm/contract/routes'
import { pastRatio } from '@lcm/domain/economy/past-ratio'
import type { Instant } from '@lcm/domain/instant'
import { type Command, Option } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { type CostRatio, costLines } from './cost-view.ts'
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
pausing. Costs are estimated from hourly prices, not from the AWS bill. Operators also see the least that anyone could have paid for the
same labs: see docs/concepts/money.md.

Examples:
  lcm cost                       the last 7 days, by worker
  lcm cost --since 24h
  lcm cost --since 2026-01-01 -o json | jq .by_cause`

async function showCost({ since, output: format }: CostOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { client } = await connect()
  const { signal } = shell
  const query = { since: since(shell.clock.now()) }
  const cost = await client.call('getFleetCost', { query, signal })
  const ratio = await readRatio(client, query, signal)
  const names = () => cost.items.map(({ name, worker_id }) => name ?? worker_id)
  const data = { ...cost, least: ratio }
  await printDocument({ data, names, lines: colors => costLines(cost, ratio, colors) }, format, output)
}

/** Null for roles that may not read which labs ran, and without labs. */
async function readRatio(client: Client, query: { since: Instant }, signal: AbortSignal): Promise<CostRatio | null> {
  const { actor } = await client.call('info', { signal })
  if (!mayCall({ ...actor, service: null }, ROUTES.getFleetUsage.access)) return null
  const usage = await client.call('getFleetUsage', { query, signal })
  const ratio = pastRatio(usage)
  return ratio && { ...ratio, since: usage.since }
}
