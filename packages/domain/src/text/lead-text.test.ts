import { expect, it } from 'vitest'
import type { Lead } from '../calendar/timings.ts'
import { leadText } from './lead-text.ts'

it.each<[Lead['source'], string]>([
  ['definition', '5.2 min before its slot (set in the definition)'],
  ['settings', '5.2 min before its slot (boot_lead_minutes in the settings)'],
  ['measured', '5.2 min before its slot (p99 of the last 50 starts)'],
  ['node_types', '5.2 min before its slot (by its node types; 50 starts measured)'],
])('names the source of a lead: %s', (source, text) => {
  expect(leadText({ ms: 311_000, source, starts: 50 })).toBe(text)
})
