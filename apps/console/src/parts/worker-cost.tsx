import { usdText } from '@lcm/domain/text/format-amounts'
import { isPriceUnknown } from '@lcm/domain/worker/cost'
import type { Worker } from '@lcm/domain/worker/worker'
import { spentUsd } from '../state/fleet-summary.ts'
import { useConsole } from './console-context.ts'

/** Cost of a worker so far, updated every second. */
export function WorkerCost({ worker }: { worker: Worker }) {
  const { nowMs } = useConsole()
  return <>{spentText(worker, nowMs.value)}</>
}

/** A price that is unknown now is missing in the sum. */
export function spentText(worker: Worker, nowMs: number): string {
  const spent = spentUsd(worker, nowMs)
  if (!isPriceUnknown(worker)) return `${usdText(spent)} so far`
  return spent === 0 ? 'unknown cost so far' : `more than ${usdText(spent)} so far`
}
