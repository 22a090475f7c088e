import type { Client } from '@lcm/client/client'

const FIRST_FLEET = [
  { template_name: 'metal', name: 'metal-1', aws_region: 'us-east-1' },
  { template_name: 'metal', name: 'metal-2', aws_region: 'eu-west-1' },
  { template_name: 'nested', name: 'nested-1', aws_region: 'us-east-1' },
] as const

/** Something to look at on the very first start. A fleet that was ever there, if only its records, is left alone. */
export async function createFirstFleet(client: Client): Promise<void> {
  const { items } = await client.call('listWorkers', { query: { limit: 1, include_terminated: true } })
  if (items.length > 0) return
  for (const worker of FIRST_FLEET) await client.call('createWorker', { body: worker })
}
