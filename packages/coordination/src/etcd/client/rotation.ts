/** Whom to ask next: all in turn, but for those that failed us lately while there are others. */
export interface Rotation<Member> {
  next(): Member
  suspect(member: Member): void
  trust(member: Member): void
}

export function rotation<Member>(members: readonly Member[]): Rotation<Member> {
  const suspects = new Set<Member>()
  let turn = -1
  return {
    next() {
      const trusted = members.filter(member => !suspects.has(member))
      const candidates = trusted.length > 0 ? trusted : members
      turn = (turn + 1) % candidates.length
      const chosen = candidates[turn]
      if (chosen === undefined) throw new Error('there is nobody to ask')
      return chosen
    },
    suspect: member => suspects.add(member),
    trust: member => suspects.delete(member),
  }
}
