import { type Client, isProblem } from '@lcm/client/client'
import type { Invocation } from '../invocation.ts'

/** Warns after a person started or created a worker: no budget refuses that. */
export async function warnAboutBudget(client: Client, { shell, output }: Invocation): Promise<void> {
  try {
    const { items } = await client.call('getFleetWarnings', { signal: shell.signal })
    for (const { kind, reason } of items) if (kind === 'budget') output.warn(`warning: ${reason.message}`)
  } catch (error) {
    if (!isProblem(error, 'forbidden', 'not_found')) throw error
  }
}
