import { describe } from 'vitest'
import { changeKeysCases } from './conformance/change-keys-cases.ts'
import { electionCases } from './conformance/election-cases.ts'
import { type ChangeKeysFixture, type ElectionFixture, freshFixture } from './conformance/fixture.ts'

/** Cases that every adapter of `Election` must pass. */
export function electionConformance(name: string, open: () => Promise<ElectionFixture>): void {
  describe(`election by ${name}`, () => electionCases(freshFixture(open)))
}

/** Cases that every adapter of `ChangeKeys` must pass. */
export function changeKeysConformance(name: string, open: () => Promise<ChangeKeysFixture>): void {
  describe(`change keys by ${name}`, () => changeKeysCases(freshFixture(open)))
}
