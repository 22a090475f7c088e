import { aControlPlane, METAL } from '@lcm/testkit/a-control-plane'
import { expect, it } from 'vitest'
import { createFirstFleet } from './first-fleet.ts'

const NESTED = { ...METAL, name: 'nested' }

async function started(...more: object[]) {
  const plane = aControlPlane()
  for (const json of [METAL, NESTED, ...more]) await plane.send('POST', 'worker-templates', { json })
  await createFirstFleet(plane.client())
  return plane
}

it('gives every first worker a license seat', async () => {
  const plane = await started()
  const { json: pool } = await plane.send('GET', 'license-pools/CML_Simulated')
  expect(pool).toMatchObject({ seats: 20, free: 17, waiting: [] })
  expect(pool.taken.map((seat: { worker_name: string }) => seat.worker_name)).toEqual([
    'metal-1',
    'metal-2',
    'nested-1',
  ])
})

it('names the product in the templates, but not where another is named', async () => {
  const plane = await started({ ...METAL, name: 'own', license_product: 'CML_Personal' })
  const { items } = (await plane.send('GET', 'worker-templates')).json
  const products = items.map(({ name, license_product }: Record<string, string>) => [name, license_product])
  expect(Object.fromEntries(products)).toEqual({ metal: 'CML_Simulated', nested: 'CML_Simulated', own: 'CML_Personal' })
})

it('completes a first start that was interrupted, and changes nothing after it', async () => {
  const plane = await started()
  const workers = () => plane.all('workers')
  for (const { id } of await workers()) await plane.remove('workers', id)
  await createFirstFleet(plane.client())
  expect(await workers()).toHaveLength(3)
  await plane.send('PUT', 'license-pools/CML_Simulated', { json: { seats: 30 } })
  await createFirstFleet(plane.client())
  expect((await plane.send('GET', 'license-pools/CML_Simulated')).json.seats).toBe(30)
  expect(await workers()).toHaveLength(3)
})
