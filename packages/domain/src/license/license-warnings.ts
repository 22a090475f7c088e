import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { FleetWarning } from '../fleet/fleet-warning.ts'
import { type Reason, reason } from '../reason.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import { nodesOfProduct, oversizedFor } from './nodes-of-product.ts'

interface Licensed {
  readonly templates: readonly WorkerTemplate[]
  readonly definitions: readonly Pick<LabletDefinition, 'id' | 'name' | 'status' | 'needs'>[]
}

/** Templates that are too large for their license, and definitions that are too large for every license. */
export function licenseWarnings({ templates, definitions }: Licensed): FleetWarning[] {
  const enabled = templates.filter(each => each.enabled)
  return [
    ...enabled.flatMap(template => {
      const cause = oversizedFor(template)
      if (cause === null) return []
      const because = reason('template_beyond_license', { template: template.name, cause })
      return warning(`license:template:${template.name}`, because, reason('fix_template_license'))
    }),
    ...definitions.flatMap(({ id, name, status, needs }) => {
      const license = status === 'ACTIVE' ? mostNodes(enabled, needs.node_count) : null
      if (license === null) return []
      const because = reason('definition_beyond_license', { definition: name, needed: needs.node_count, ...license })
      return warning(`license:definition:${id}`, because, reason('fix_definition_license'))
    }),
  ]
}

/** The license with the most nodes where licenses, and not the sizes of machines, are too small; null if they are not. */
function mostNodes(
  templates: readonly WorkerTemplate[],
  needed: number,
): { readonly product: string; readonly nodes: number } | null {
  const large = templates.filter(({ capacity }) => capacity.max_nodes >= needed)
  const licenses = large.flatMap(({ license_product: product }) => {
    const nodes = nodesOfProduct(product)
    return product === null || nodes === null || nodes >= needed ? [] : [{ product, nodes }]
  })
  if (licenses.length < large.length) return null
  return licenses.toSorted((a, b) => b.nodes - a.nodes)[0] ?? null
}

const warning = (id: string, because: Reason, fix: Reason): FleetWarning[] => [
  { id, kind: 'license', is_critical: false, reason: because, fix },
]
