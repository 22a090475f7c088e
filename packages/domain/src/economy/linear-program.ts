/** Below this a coefficient is an error of rounding. */
const EPSILON = 1e-9

/**
 * The `y` that makes `goal * y` greatest where each row times `y` is at most 1 and no `y` is negative, by the simplex method. It
 * starts at zero, which is feasible; Bland's rule keeps it from cycling. Null if nothing limits it.
 */
export function maximize(goal: readonly number[], limits: readonly (readonly number[])[]): number[] | null {
  const width = goal.length
  const rows = limits.map(limit => [...limit, 1])
  const costs = [...goal, 0]
  // Variables below `width` are those of the goal; each row has one more for what is left to its limit.
  const free = goal.map((_, column) => column)
  const basic = rows.map((_, row) => width + row)
  for (;;) {
    const column = lowest(free, at => (costs[at] ?? 0) > EPSILON)
    if (column === -1) return solution(rows, basic, width)
    const row = tightest(rows, basic, column)
    if (row === -1) return null
    pivot([...rows, costs], row, column)
    const entering = free[column] ?? 0
    free[column] = basic[row] ?? 0
    basic[row] = entering
  }
}

/** Where the variable with the lowest number is, among those that qualify; -1 without any. */
function lowest(variables: readonly number[], qualifies: (at: number) => boolean): number {
  let best = -1
  for (const [at, variable] of variables.entries())
    if (qualifies(at) && (best === -1 || variable < (variables[best] ?? 0))) best = at
  return best
}

/** The row that limits the column first. */
function tightest(rows: readonly (readonly number[])[], basic: readonly number[], column: number): number {
  const ratios = rows.map(row => {
    const slope = row[column] ?? 0
    return slope > EPSILON ? (row.at(-1) ?? 0) / slope : Number.POSITIVE_INFINITY
  })
  const least = Math.min(...ratios)
  return least === Number.POSITIVE_INFINITY ? -1 : lowest(basic, row => (ratios[row] ?? 0) <= least + EPSILON)
}

/** Exchanges the variables of a row and a column in all rows. */
function pivot(all: readonly number[][], pivotRow: number, column: number): void {
  const source = all[pivotRow] ?? []
  const by = source[column] ?? 1
  for (const at of source.keys()) source[at] = (at === column ? 1 : (source[at] ?? 0)) / by
  for (const row of all) {
    const factor = row[column] ?? 0
    if (row === source || factor === 0) continue
    for (const at of row.keys()) row[at] = (at === column ? 0 : (row[at] ?? 0)) - factor * (source[at] ?? 0)
  }
}

function solution(rows: readonly (readonly number[])[], basic: readonly number[], width: number): number[] {
  const found = new Array<number>(width).fill(0)
  for (const [row, variable] of basic.entries()) if (variable < width) found[variable] = rows[row]?.at(-1) ?? 0
  return found
}
