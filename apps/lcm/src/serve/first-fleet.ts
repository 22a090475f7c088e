import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, unlessMissing } from '@lcm/client/client'
import { WorkerTemplateSpec } from '@lcm/domain/template/worker-template'
import { assetFolder } from './files/asset-folder.ts'

const FIRST_FLEET = [
  { template_name: 'metal', name: 'metal-1', aws_region: 'us-east-1' },
  { template_name: 'metal', name: 'metal-2', aws_region: 'eu-west-1' },
  { template_name: 'nested', name: 'nested-1', aws_region: 'us-east-1' },
] as const

const FIRST_LAB = 'two-routers'

/** A product that only the simulated CML knows. It has enough seats for every worker that may run by default. */
const FIRST_POOL = { product: 'CML_Simulated', seats: 20, token: 'simulated' } as const

/**
 * Creates a lab, licenses and a small fleet on the first start. Does nothing if any worker record exists. The lab comes first, so that the
 * next start completes an interrupted one.
 */
export async function createFirstFleet(client: Client): Promise<void> {
  const { items } = await client.call('listWorkers', { query: { limit: 1, include_terminated: true } })
  if (items.length > 0) return
  await createFirstLab(client)
  await createFirstPool(client)
  for (const worker of FIRST_FLEET) await client.call('createWorker', { body: worker })
}

async function createFirstLab(client: Client): Promise<void> {
  const folder = assetFolder('examples', 'labs')
  const { items } = await client.call('listDefinitions', { query: { name: FIRST_LAB, limit: 1 } })
  if (folder === null || items.length > 0) return
  const topology = readFileSync(join(folder, `${FIRST_LAB}.yaml`), 'utf8')
  await client.call('createDefinition', { body: { name: FIRST_LAB, topology } })
}

/** The pool comes before the templates that name it, and those before the workers that take its seats. */
async function createFirstPool(client: Client): Promise<void> {
  const { product } = FIRST_POOL
  const pool = await unlessMissing(client.call('getLicensePool', { params: { product } }))
  if (pool === null) await client.call('createLicensePool', { body: FIRST_POOL })
  const { items } = await client.call('listTemplates', { query: {} })
  for (const template of items.filter(({ license_product }) => license_product === null)) {
    const { name, ...spec } = WorkerTemplateSpec.strip().parse(template)
    await client.call('putTemplate', { params: { name }, body: { ...spec, license_product: product } })
  }
}
