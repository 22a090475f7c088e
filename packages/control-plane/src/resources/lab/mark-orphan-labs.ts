import { reason } from '@lcm/domain/reason'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict } from '../../system-actor.ts'
import { listAll } from '../list-documents.ts'
import { changeLab } from './change-lab.ts'
import { countLabs } from './queries.ts'
import { cleanUpAfterLab } from './report-lab.ts'

/** Marks the labs of a terminated machine as ORPHANED. */
export async function orphanLabs(api: Api, workerId: string): Promise<void> {
  const labs = await listAll(api.labs, { where: { worker_id: workerId, is_gone: 'no' } })
  for (const { id } of labs) {
    const orphaned = await nullOnConflict(
      changeLab(api, asSystem(id), lab => ({
        lab: { ...lab, status: 'ORPHANED', pending_action: null },
        because: reason('lab_machine_gone'),
      })),
    )
    if (orphaned !== null) await cleanUpAfterLab(api, orphaned)
  }
  if (labs.length > 0) await countLabs(api, workerId)
}

/** Deletes the lab records together with their worker. */
export async function removeLabsOf(api: Api, workerId: string): Promise<void> {
  for (const lab of await listAll(api.labs, { where: { worker_id: workerId } })) await api.labs.remove(lab)
}
