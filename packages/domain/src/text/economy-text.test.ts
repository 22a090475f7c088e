import { expect, it } from 'vitest'
import { pastRatioText } from './economy-text.ts'

it('compares the past with the least possible', () => {
  const ratio = {
    machine_usd: 1611.2,
    labs: 848,
    bound_usd: 1079,
    feasible_usd: 1128,
    template_names: ['metal'],
    to_bound: 1.493,
  }
  expect(pastRatioText(ratio)).toBe(
    'Machines cost $1,611.20 for 848 labs, 1.49 times the least possible: no schedule on metal costs less than $1,079.00, ' +
      'and $1,128.00 could be carried out.',
  )
})
