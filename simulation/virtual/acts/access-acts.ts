import type { ACCESS_ACTS } from './act.ts'
import { type ActContext, type Perform, pick } from './act-context.ts'

const memberOf = ({ people }: ActContext, share: number) => pick(people.members, share)

/** Credentials of a kind, those that ended not long ago included. */
const heldOf = ({ people }: ActContext, ...kinds: readonly string[]) =>
  people.held().filter(({ credential }) => kinds.includes(credential.kind))

/** Performs what people and attackers do to get access, and operators to end it. */
export const accessActs: Readonly<Record<keyof typeof ACCESS_ACTS, Perform>> = {
  'add a person': ({ people }, { target, amount }) =>
    people.join(`person ${target}`, amount < 0.5 ? 'user' : 'operator'),
  'give a token': (context, { target }) => context.people.giveToken(memberOf(context, target)),
  'sign in'(context, { target }) {
    const { member, credential } = pick(heldOf(context, 'token', 'link'), target)
    return context.people.signIn(member, credential)
  },
  'make a login link'(context, { target }) {
    const { member, credential } = pick(heldOf(context, 'token'), target)
    return context.people.makeLink(member, credential)
  },
  'sign out': (context, { target }) => context.people.signOut(pick(heldOf(context, 'cookie'), target).credential),
  async 'use all access'(context, { target, amount }) {
    const { people, learner } = context
    for (const { credential } of heldOf(context, 'token', 'cookie')) {
      void people.follow(credential)
      void people.probe(credential)
    }
    await people.check()
    // An event for the streams.
    await learner.edit(target, amount / 2)
  },
  'book as a person': (context, { target }) =>
    context.people.book(pick(heldOf(context, 'token', 'cookie'), target).credential),
  'send wrong tokens': ({ people }) => people.sendWrongTokens(),
  async 'replace a token'(context, { target, amount }) {
    const member = memberOf(context, target)
    const tokens = member.credentials.filter(({ kind, right }) => kind === 'token' && right.ended === null)
    const lost = pick(tokens, amount)
    await context.people.giveToken(member)
    await context.people.removeToken(member, lost)
  },
  'revoke a person': (context, { target }) => context.people.revoke(memberOf(context, target)),
  'change a role'(context, { target }) {
    const member = memberOf(context, target)
    return context.people.changeRole(member, member.role === 'user' ? 'operator' : 'user')
  },
  'remove a person': (context, { target }) => context.people.remove(memberOf(context, target)),
  'merge people'(context, { target, amount }) {
    const from = memberOf(context, target)
    const others = context.people.members.filter(each => each !== from)
    return context.people.merge(from, pick(others, amount))
  },
}
