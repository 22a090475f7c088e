import { usdText } from '@lcm/domain/text/amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import { spentUsd } from '../state/worker-view.ts'
import { useConsole } from './console-context.ts'

/** What a worker has cost, growing while it does. */
export function WorkerCost({ worker }: { worker: Worker }) {
  const { nowMs } = useConsole()
  return <>{`${usdText(spentUsd(worker, nowMs.value))} so far`}</>
}
