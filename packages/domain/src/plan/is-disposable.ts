import type { Worker } from '../worker/worker.ts'

/** A worker that a policy bought and stopped, and that nothing holds: another one can replace it. */
export const isDisposable = (worker: Worker): boolean =>
  worker.status === 'STOPPED' &&
  worker.desired_status === 'STOPPED' &&
  worker.pause.reason !== null &&
  worker.origin === 'SCALE_UP' &&
  !worker.protected &&
  worker.drain === null &&
  worker.license.product === null &&
  worker.wanted_by.length === 0 &&
  Object.keys(worker.reservations).length === 0
