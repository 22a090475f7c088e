import type { Worker } from './worker.ts'

/**
 * Whether the worker's machine may be given secrets of the fleet: the default CML password and license tokens. LCM launched it itself,
 * which the recorded attempt proves. Tags prove nothing: anybody who may tag machines can write them.
 */
export const isTrusted = ({ launch, ec2_instance_id }: Worker): boolean =>
  launch?.state === 'launched' && ec2_instance_id !== null

/** Whether a license may be asked for: one that has no machine yet gets one that LCM launches. */
export const mayBeLicensed = (worker: Worker): boolean => worker.ec2_instance_id === null || isTrusted(worker)

/** Whether LCM can log in to its CML: with credentials that a person set for this worker, or with those of the fleet. */
export const hasLogin = (worker: Worker): boolean => worker.secret_refs.cml_login !== undefined || isTrusted(worker)

/** Whether it has a machine that LCM can't log in to, and so can't run labs on. */
export const lacksLogin = (worker: Worker): boolean => worker.ec2_instance_id !== null && !hasLogin(worker)

export const NOT_LAUNCHED = 'LCM did not launch this machine'
