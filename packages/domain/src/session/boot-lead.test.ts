import { expect, it } from 'vitest'
import { bootLeadMs } from './boot-lead.ts'

const given = (boot_lead_minutes: number) => ({ boot_lead_minutes })
const nothing = { boot_lead_minutes: null }

it.each<[string, Parameters<typeof bootLeadMs>, number]>([
  ['the settings have, while the machine has to boot', [nothing, given(20), false], 20],
  ['a lab needs, when CML serves already', [nothing, given(20), true], 10],
  ['the settings have, when that is less', [nothing, given(5), true], 5],
  ['the definition has, whatever the state of the machine', [given(30), given(20), true], 30],
  ['the definition has, even if it is zero', [given(0), given(20), false], 0],
])('is what %s', (_, given, minutes) => {
  expect(bootLeadMs(...given)).toBe(minutes * 60_000)
})
