import type { WorkerView } from '@lcm/contract/worker-bodies'
import { untracked, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../../parts/console-context.ts'
import { browserClock } from '../../../state/browser-clock.ts'

/** Up to so many a list is put in order again with every change. */
const SMALL_FLEET = 500
/** A larger one so often: nobody reads faster, and each time leaves a megabyte to be thrown away. */
const CALM_MS = 250

/** All workers, renewed as they change. */
export function useFleet(): readonly WorkerView[] {
  const { state } = useConsole()
  const all = () => [...state.live.worker.all().values()]
  const fleet = useSignal<readonly WorkerView[]>(untracked(all))
  const calm = useRef<{ end: (() => void) | null; isBehind: boolean }>({ end: null, isBehind: false }).current
  useSignalEffect(() => {
    const look = () => {
      fleet.value = untracked(all)
      if (fleet.peek().length <= SMALL_FLEET) return
      calm.isBehind = false
      calm.end = browserClock.after(CALM_MS, () => {
        calm.end = null
        if (calm.isBehind) look()
      })
    }
    state.live.worker.all()
    if (calm.end === null) look()
    else calm.isBehind = true
  })
  useEffect(() => () => calm.end?.(), [calm])
  return fleet.value
}
