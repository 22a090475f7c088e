import { STREAMS } from '@lcm/control-plane/resources/journal/entries'
import type { Store } from '@lcm/store/store'
import { at, type Mutant } from './mutant.ts'

/** Two sessions with hours between them: the budget is enough for one, and for the time that its machine stays awake. */
const TWO_USES = [
  at(0, 'limit spending', { amount: 0.3 }),
  at(1, 'book best effort', { target: 0.9 }),
  at(150, 'book best effort', { target: 0.9 }),
]

/** Without the intervals that are over. */
function withoutClosedCosts(store: Store): Store {
  const query: Store['journal']['query'] = async asked =>
    asked.streams.includes(STREAMS.cost) ? [] : store.journal.query(asked)
  return { ...store, journal: { ...store.journal, query } }
}

/** Defects of budgets. */
export const budgetMutants: readonly Mutant[] = [
  {
    name: 'spending forgotten',
    breaks: 'a budget counts only the machines that run, not what was spent before',
    caughtBy: /is started by LCM although .* USD are billed/,
    acts: TWO_USES,
    defects: () => ({ store: withoutClosedCosts }),
  },
]
