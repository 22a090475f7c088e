import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { Reason } from '@lcm/domain/reason'
import { fitsNowhereBecause, holdersOf } from '@lcm/domain/session/decide-scale-up'
import { demandOf } from '@lcm/domain/session/demand'
import type { Api } from '../../api-context.ts'
import { listAll } from '../list-documents.ts'
import { listAllWorkers } from '../worker/queries.ts'

/** Why nothing can run the definition now, by what placement itself decides. Without a topology its needs are unknown. */
export async function warningsOf(api: Api, definition: LabletDefinition): Promise<Reason[]> {
  if (definition.status === 'DEPRECATED' || definition.topology === null) return []
  const [templates, workers] = await Promise.all([listAll(api.templates), listAllWorkers(api)])
  const holders = holdersOf({ templates, workers, nowMs: api.clock.now() })
  const because = fitsNowhereBecause(demandOf(definition), holders)
  return because === null ? [] : [because]
}
