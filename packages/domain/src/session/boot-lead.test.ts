import { expect, it } from 'vitest'
import { bootLeadMs } from './boot-lead.ts'

const given = (boot_lead_minutes: number) => ({ boot_lead_minutes })
const nothing = { boot_lead_minutes: null }

it.each<[string, Parameters<typeof bootLeadMs>, number]>([
  ['the settings say, while the machine has to come up', [nothing, given(20), false], 20],
  ['a lab takes, where CML serves already', [nothing, given(20), true], 10],
  ['the settings say, where that is less', [nothing, given(5), true], 5],
  ['its author said, whatever the machine does', [given(30), given(20), true], 30],
  ['its author said, even if that is nothing', [given(0), given(20), false], 0],
])('is what %s', (_, said, minutes) => {
  expect(bootLeadMs(...said)).toBe(minutes * 60_000)
})
