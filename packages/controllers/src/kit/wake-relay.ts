import type { Reconciliation } from '@lcm/runtime'

/** Wakes resources of a loop for parts that are created before the loop. Until it is connected nothing can be woken. */
export interface WakeRelay extends Pick<Reconciliation, 'wake'> {
  connect(loop: Pick<Reconciliation, 'wake'>): void
}

export function wakeRelay(): WakeRelay {
  let wake: Reconciliation['wake'] = () => false
  return {
    wake: (key, cause) => wake(key, cause),
    connect(loop) {
      wake = loop.wake
    },
  }
}
