import type { Worker } from './worker.ts'

/**
 * Whether the worker's instance may receive secrets of the fleet: the default CML password and license tokens. LCM launched it itself,
 * which the recorded attempt proves. Tags prove nothing: anyone who may tag instances can write them.
 */
export const isTrusted = ({ launch, ec2_instance_id }: Worker): boolean =>
  launch?.state === 'launched' && ec2_instance_id !== null

/** Whether a license may be requested: a worker without an instance gets one that LCM launches. */
export const mayBeLicensed = (worker: Worker): boolean => worker.ec2_instance_id === null || isTrusted(worker)

/** Whether LCM can log in to its CML: with credentials that an operator set for this worker, or with those of the fleet. */
export const hasLogin = (worker: Worker): boolean => worker.secret_refs.cml_login !== undefined || isTrusted(worker)

/** Whether it has an instance that LCM can't log in to, and so can't run labs on. */
export const lacksLogin = (worker: Worker): boolean => worker.ec2_instance_id !== null && !hasLogin(worker)
