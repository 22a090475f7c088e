import { isProblem } from '@lcm/client/api-error'
import type { PlannedAction } from '@lcm/domain/fleet/service-instance'
import { type Command, InvalidArgumentError } from 'commander'
import type { Connection } from '../connection.ts'
import { findWorker } from '../find.ts'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'
import { explainWorker } from '../worker-explanation.ts'

const DECISIONS = 10
const DECISIONS_MAX = 100

interface WhyOptions {
  readonly limit: number
  readonly json?: boolean
}

export function defineWhy(why: Command, shell: Shell): void {
  why
    .command('worker <id>')
    .alias('workers')
    .description('why a worker is where it is, what happens next and what you can do')
    .option('-n, --limit <count>', 'how many decisions to show', countOf, DECISIONS)
    .option('--json', 'as the API tells it, for programs')
    .action(async (idOrName: string, options: WhyOptions, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      const worker = await findWorker(client, idOrName, shell.signal)
      const query = { limit: options.limit }
      const { items: decisions } = await client.call('getWorkerDecisions', {
        params: { id: worker.id },
        query,
        signal: shell.signal,
      })
      const plan = await planOf(client, worker.id, shell.signal)
      if (options.json === true) output.out(JSON.stringify({ worker, decisions, plan }, null, 2))
      else explainWorker({ worker, decisions, plan }, shell.clock.now(), output.colors).forEach(output.out)
    })
  why.addHelpText('afterAll', '\nExamples:\n  lcm why worker metal-3\n  lcm why worker metal-3 -n 50')
}

function countOf(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= DECISIONS_MAX) return count
  throw new InvalidArgumentError(`Give a number from 1 to ${DECISIONS_MAX}.`)
}

/** Whoever may not see the plan is still told the rest. */
async function planOf(
  client: Connection['client'],
  workerId: string,
  signal: AbortSignal,
): Promise<PlannedAction | null> {
  try {
    const { items } = await client.call('getFleetPlan', { signal })
    return items.find(({ resource }) => resource === `worker:${workerId}`) ?? null
  } catch (error) {
    if (isProblem(error, 'forbidden')) return null
    throw error
  }
}
