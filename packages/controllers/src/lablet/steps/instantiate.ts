import { allocatePorts, bindLab, resolveLab } from './bind-lab.ts'
import { prepareLab } from './prepare-lab.ts'
import { awaitLab, publishAccess, startLab } from './start-lab.ts'
import type { RunStep } from './step.ts'

/**
 * Ports come before the import, so that a lab is never on CML without them: what is called `tags` is where a new lab is
 * imported, and where one that is used again is wiped and looked at.
 */
export const INSTANTIATE: Readonly<Record<string, RunStep>> = {
  lab_resolve: resolveLab,
  bind: bindLab,
  ports_alloc: allocatePorts,
  tags: prepareLab,
  lab_start: startLab,
  converged: awaitLab,
  mark_ready: publishAccess,
}
