import { readList } from '@lcm/client/list-pages'
import { toMs } from '@lcm/domain/instant'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { readWorkerNames } from '../worker/worker-names.ts'
import { machinePlanLines, readMachinePlan } from './machine-plan-view.ts'
import { leftOutFor, planByService, planLines } from './plan-view.ts'

export function definePlan(plan: Command, shell: Shell): void {
  plan
    .addOption(formatOption().default('table'))
    .action(async ({ output }: { output: Format }, command: Command) => showPlan(output, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Examples:
  lcm plan                 one line per planned action, with its reason; operators also see the steps of each machine
  lcm plan -o json | jq '.items[] | select(.action == "terminate")'`

async function showPlan(format: Format, { shell, output, connect }: Invocation): Promise<void> {
  const { signal } = shell
  const { client } = await connect()
  const [info, plan, { items: services }, names, { items: sessions }] = await Promise.all([
    client.call('info', { signal }),
    client.call('getFleetPlan', { signal }),
    client.call('listServices', { signal }),
    readWorkerNames(client, signal),
    readList(page => client.call('listSessions', { query: page, signal })),
  ])
  const calendar = await readMachinePlan(client, info.actor, signal)
  const summaries = planByService({ plan, services }).map(({ items: _, ...summary }) => summary)
  await printDocument(
    {
      data: { ...plan, services: summaries, left_out: leftOutFor(info.actor), calendar },
      names: () => plan.items.map(({ resource }) => resource),
      lines: colors => {
        const machines = calendar === null ? [] : machinePlanLines(calendar, names, toMs(plan.at), colors)
        const lines = planLines({ plan, services, names, sessions, actor: info.actor }, colors)
        return machines.length === 0 ? lines : [...lines, '', ...machines]
      },
    },
    format,
    output,
  )
}
