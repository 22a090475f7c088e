import { usdText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import { spentUsd } from '../state/fleet-summary.ts'
import { useConsole } from './console-context.ts'

/** Cost of a worker so far, updated every second. */
export function WorkerCost({ worker }: { worker: Worker }) {
  const { nowMs } = useConsole()
  return <>{`${usdText(spentUsd(worker, nowMs.value))} so far`}</>
}
