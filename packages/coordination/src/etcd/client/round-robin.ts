/** Cycles through the members, and skips those marked down while there are others. */
export interface RoundRobin<Member> {
  next(): Member
  markDown(member: Member): void
  markUp(member: Member): void
}

export function roundRobin<Member>(members: readonly Member[]): RoundRobin<Member> {
  const suspects = new Set<Member>()
  let index = -1
  return {
    next() {
      const trusted = members.filter(member => !suspects.has(member))
      const candidates = trusted.length > 0 ? trusted : members
      index = (index + 1) % candidates.length
      const chosen = candidates[index]
      if (chosen === undefined) throw new Error('there are no members')
      return chosen
    },
    markDown: member => suspects.add(member),
    markUp: member => suspects.delete(member),
  }
}
