/** Places of values with nothing known on either side: a line needs two, so these are drawn as dots. */
export const lonePoints = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, index) => {
    const isAlone = (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null
    return value !== null && isAlone ? [index] : []
  })
