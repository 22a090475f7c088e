import type { FaultState } from '@lcm/client/sim-client'

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`

const RATES: readonly (readonly [string, string])[] = [
  ['server_error_rate', 'of calls return 500 or 503'],
  ['lost_request_rate', 'of calls are lost before they take effect'],
  ['lost_answer_rate', 'of responses are lost after the call took effect'],
  ['stale_read_rate', 'of reads are stale'],
  ['capacity_error_rate', 'of zones have no capacity'],
  ['pending_death_rate', 'of launches fail while pending'],
  ['empty_answer_rate', 'of responses are empty'],
  ['truncated_answer_rate', 'of responses are truncated'],
]

/** Active fault rates as text. */
export const activeFaults = ({ plan }: FaultState): string[] =>
  RATES.flatMap(([name, words]) => {
    const rate = plan[name]
    return typeof rate === 'number' && rate > 0 ? [`${percent(rate)} ${words}`] : []
  })
