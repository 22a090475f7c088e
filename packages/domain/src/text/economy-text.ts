import type { PastRatio } from '../economy/past-ratio.ts'
import { countText, usdText } from './format-amounts.ts'

/** Such as `1.43 times`. */
export const timesText = (ratio: number): string => `${ratio.toFixed(2)} times`

/** What machines cost in the past, against the least possible. */
export function pastRatioText({
  machine_usd,
  labs,
  bound_usd,
  feasible_usd,
  template_names,
  to_bound,
}: PastRatio): string {
  const cost = `Machines cost ${usdText(machine_usd)} for ${countText(labs, 'lab')}, ${timesText(to_bound)} the least possible`
  const bound = `no schedule on ${template_names.join(' and ')} costs less than ${usdText(bound_usd)}`
  return `${cost}: ${bound}, and ${usdText(feasible_usd)} could be carried out.`
}
