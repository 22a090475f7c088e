import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { PRESETS } from './fault-plan.ts'

it('matches its documentation', () => {
  const page = readFileSync(new URL('../../../../docs/reference/simulator.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\S+) \| (\S+) \| (\S+) \|/gm)]
  const documented = Object.fromEntries(rows.map(([, name, ...values]) => [name, values]))
  const values = (name: string) =>
    [PRESETS.calm, PRESETS.realistic, PRESETS.hostile].map(plan => String(new Map(Object.entries(plan)).get(name)))
  expect(documented).toEqual(Object.fromEntries(Object.keys(PRESETS.calm).map(name => [name, values(name)])))
})
