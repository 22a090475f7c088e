import { expect, it } from 'vitest'

const { proofPage } = await import(new URL('proof-page.mjs', import.meta.url).href)
const about = { at: '2026-01-02T03:04:05.678Z', commit: 'abc1234', node: '20.0.0', cores: 4, count: 7 }

it('lists the result and commit of each proof, and proofs that did not run', () => {
  const page = proofPage({ crashes: { ...about, runs: 500, failures: 2 } }, ['storms', 'crashes', 'days'])
  expect(page).toContain('| 500 | 2 | 2026-01-02 on abc1234, count 7, 4 cores |')
  expect(page).toContain('Not made yet: storms, days.')
})
