import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const { proofPage } = await import(new URL('proof-page.mjs', import.meta.url).href)
const about = { at: '2026-01-02T03:04:05.678Z', commit: 'abc1234', node: '20.0.0', cores: 4, count: 7 }

it('lists the result and commit of each proof, and proofs that did not run', () => {
  const page = proofPage({ crashes: { ...about, runs: 500, failures: 2 } })
  expect(page).toContain('| 500 | 2 | 2026-01-02 on abc1234, count 7, 4 cores |')
  expect(page).toMatch(/Not made yet: .*chaos, storms, six-hours, days/)
})

it('bench/proof.md is made from bench/proof.json', () => {
  const stored = (name: string) => readFileSync(new URL(`../bench/${name}`, import.meta.url), 'utf8')
  expect(stored('proof.md')).toBe(proofPage(JSON.parse(stored('proof.json'))))
})
