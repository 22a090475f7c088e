import type { Upgrade } from '@lcm/store/store'
import { FROM_0_1_0 } from './upgrades/from-0-1-0.ts'

/**
 * From the documents of each release to those of the next, in order. They run when a newer release opens the store for the
 * first time; afterwards every document is parsed in full, so new fields need only a default in their schema. A released entry
 * is never changed. A change of anything that is stored or indexed adds an entry, even an empty one.
 */
export const UPGRADES: readonly Upgrade[] = [FROM_0_1_0]
