import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { AccessControl } from '@lcm/control-plane/access/access-control'
import type { ControlPlane } from '@lcm/control-plane/control-plane'
import { StartupError } from '../startup-error.ts'

/** Marks an incomplete restore. Renaming it to RESTORED completes the restore. */
export const UNFINISHED = 'restore-unfinished'
/** Marks a restored folder until its fleet is put on hold. */
export const RESTORED = 'restored'

export const FLEET_ID_HINT = 'write the LCM_FLEET of your worker-controller into it before you start `lcm up`'

/** Refuses an incomplete restore, because missing files would be created empty. */
export function refuseUnfinishedRestore(folder: string): void {
  if (!existsSync(join(folder, UNFINISHED))) return
  throw new StartupError(`the restore to ${folder} is incomplete`, {
    advice: `delete that folder and run \`lcm restore\` again`,
  })
}

export const wasRestored = (folder: string): boolean => existsSync(join(folder, RESTORED))

/**
 * Puts a restored fleet on hold: the cloud has changed since the backup, so automatic actions wait until every worker was
 * observed. Browsers that signed out since the backup would be signed in again, so all of them sign in once more. The mark is
 * removed after both; repeating them after a crash is harmless.
 */
export async function holdRestoredFleet(
  folder: string,
  { holdFleet, access }: Pick<ControlPlane, 'holdFleet'> & { readonly access: Pick<AccessControl, 'endSessions'> },
): Promise<void> {
  if (!wasRestored(folder)) return
  await holdFleet()
  await access.endSessions('the store was restored')
  rmSync(join(folder, RESTORED))
}
