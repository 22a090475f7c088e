import { INSTANCE_TYPES } from '../fleet/instance-types.ts'
import { type Reason, reason } from '../reason.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'

/** The nodes that run without a license. */
export const FREE_NODES = 5

/** The nodes that each product includes. More nodes for Enterprise are sold separately. */
const LICENSED_NODES: Readonly<Record<string, number>> = {
  CML_Personal: 20,
  CML_Personal40: 40,
  CML_Enterprise: 20,
  CML_Education: 20,
  CML_Internal: 20,
  CML_NotForResale: 20,
}

/** Null for a product that LCM does not know. */
export const nodesOfProduct = (product: string | null): number | null => LICENSED_NODES[product ?? ''] ?? null

/** The smallest type that a shipped template names; it holds more nodes than most licenses include. */
const SMALL_TYPE = 'm8i.4xlarge'

/** Why the machines of a template are too large for its license, so that most of their price buys nothing; null if they are not. */
export function oversizedFor({
  license_product: product,
  capacity,
  instance_types,
  cost_per_hour_usd,
}: Sized): Reason | null {
  const nodes = nodesOfProduct(product)
  const small = INSTANCE_TYPES.get(SMALL_TYPE)
  const isSmall = instance_types.includes(SMALL_TYPE) || cost_per_hour_usd <= (small?.cost_per_hour_usd ?? 0)
  if (product === null || nodes === null || isSmall || capacity.max_nodes <= nodes) return null
  const declared = capacity.max_nodes
  return reason('license_smaller_than_machine', { product, nodes, declared, instance_type: SMALL_TYPE })
}

type Sized = Pick<WorkerTemplate, 'license_product' | 'capacity' | 'instance_types' | 'cost_per_hour_usd'>
