interface Move<S extends string> {
  readonly from: S | null
  readonly to: S
}

/** Moves that form no chain, or that nobody may make. Where they begin is left open: the oldest may be forgotten. */
export const illegalMoves = <S extends string>(
  name: string,
  moves: readonly Move<S>[],
  canMove: (from: S, to: S) => boolean,
): string[] =>
  moves.flatMap(({ from, to }, n) => {
    const was = n === 0 ? from : (moves[n - 1]?.to ?? null)
    const isLegal = from === was && (from === null || canMove(from, to))
    return isLegal ? [] : [`${name} moved from ${from} to ${to} while it was ${was}`]
  })
