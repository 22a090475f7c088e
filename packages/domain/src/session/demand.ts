import { ALWAYS, type Span } from '../calendar/span.ts'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import type { LabNeeds } from '../lab/topology.ts'

/** The resources that a session needs on its worker. */
export interface Demand {
  readonly session_id: string | null
  readonly needs: LabNeeds
  readonly node_definitions: readonly string[]
  readonly cml_version: { readonly min: string | null; readonly max: string | null }
  readonly license_affinity: readonly string[]
  readonly ports: number
  /** When it needs them. */
  readonly span: Span
}

/** The part of a definition that its sessions are placed by. */
export type Placed = Pick<
  LabletDefinition,
  'needs' | 'node_definitions_required' | 'cml_version' | 'license_affinity' | 'port_template'
>

/** Without a span, at every time. */
export const demandOf = (definition: Placed, sessionId: string | null = null, span = ALWAYS): Demand => ({
  session_id: sessionId,
  needs: definition.needs,
  node_definitions: definition.node_definitions_required,
  cml_version: definition.cml_version,
  license_affinity: definition.license_affinity,
  ports: definition.port_template.length,
  span,
})
