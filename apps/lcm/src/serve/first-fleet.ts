import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@lcm/client/client'
import { assetFolder } from './files/asset-folder.ts'

const FIRST_FLEET = [
  { template_name: 'metal', name: 'metal-1', aws_region: 'us-east-1' },
  { template_name: 'metal', name: 'metal-2', aws_region: 'eu-west-1' },
  { template_name: 'nested', name: 'nested-1', aws_region: 'us-east-1' },
] as const

/** Small enough to run without a license. */
const FIRST_LAB = 'two-routers'

/**
 * Creates a lab and a small fleet on the first start. Does nothing if any worker record exists. The lab comes first, so that the
 * next start completes an interrupted one.
 */
export async function createFirstFleet(client: Client): Promise<void> {
  const { items } = await client.call('listWorkers', { query: { limit: 1, include_terminated: true } })
  if (items.length > 0) return
  await createFirstLab(client)
  for (const worker of FIRST_FLEET) await client.call('createWorker', { body: worker })
}

async function createFirstLab(client: Client): Promise<void> {
  const folder = assetFolder('examples', 'labs')
  const { items } = await client.call('listDefinitions', { query: { name: FIRST_LAB, limit: 1 } })
  if (folder === null || items.length > 0) return
  const topology = readFileSync(join(folder, `${FIRST_LAB}.yaml`), 'utf8')
  await client.call('createDefinition', { body: { name: FIRST_LAB, topology } })
}
