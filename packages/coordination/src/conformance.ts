import { describe } from 'vitest'
import { type ChangeKeysBench, type ElectionBench, freshBench } from './conformance/bench.ts'
import { changeKeysCases } from './conformance/change-keys-cases.ts'
import { electionCases } from './conformance/election-cases.ts'

/** Every adapter of `Election` passes this. */
export function electionConformance(name: string, open: () => Promise<ElectionBench>): void {
  describe(`election by ${name}`, () => electionCases(freshBench(open)))
}

/** Every adapter of `ChangeKeys` passes this. */
export function changeKeysConformance(name: string, open: () => Promise<ChangeKeysBench>): void {
  describe(`change keys by ${name}`, () => changeKeysCases(freshBench(open)))
}
