import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlPlane } from '@lcm/control-plane/control-plane'
import { StartupError } from '../startup-error.ts'

/** Stands in the folder while it is being filled. Its renaming to RESTORED is what makes the restore whole. */
export const UNFINISHED = 'restore-unfinished'
/** Stands in the folder until its fleet has been held. */
export const RESTORED = 'restored'

export const FLEET_ID_HINT = 'write into it the LCM_FLEET that your worker-controller had, before you start `lcm up`'

/** What a restore left half written must not be taken for a fleet: the missing half would be made anew, and empty. */
export function refuseUnfinishedRestore(folder: string): void {
  if (!existsSync(join(folder, UNFINISHED))) return
  throw new StartupError(`a restore into ${folder} was cut off. Remove that folder and run \`lcm restore\` again`)
}

export const wasRestored = (folder: string): boolean => existsSync(join(folder, RESTORED))

/**
 * The cloud has gone on since the backup, so nothing automatic may be done until every worker has been looked at. The mark
 * goes once that is stored: a crash in between holds the fleet again, which harms nobody.
 */
export async function holdRestoredFleet(folder: string, plane: Pick<ControlPlane, 'holdFleet'>): Promise<void> {
  if (!wasRestored(folder)) return
  await plane.holdFleet()
  rmSync(join(folder, RESTORED))
}
