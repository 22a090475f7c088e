import type { Lead } from '../calendar/timings.ts'
import { countText } from './format-amounts.ts'

const MINUTE_MS = 60_000

/** How long before its slot a lab starts, and why: `5.2 min before its slot (p99 of the last 50 starts)`. */
export function leadText({ ms, source, starts }: Lead): string {
  const minutes = `${Number((ms / MINUTE_MS).toFixed(1))} min before its slot`
  switch (source) {
    case 'definition':
      return `${minutes} (set in the definition)`
    case 'settings':
      return `${minutes} (boot_lead_minutes in the settings)`
    case 'measured':
      return `${minutes} (p99 of the last ${countText(starts, 'start')})`
    case 'node_types':
      return `${minutes} (by its node types; ${countText(starts, 'start')} measured)`
  }
}
