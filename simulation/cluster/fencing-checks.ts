import type { Exchange } from './processes/api-recording-proxy.ts'

const isRegistration = (exchange: Exchange) => exchange.path.endsWith('/term') && exchange.status === 200

/** Accepted registrations of leaders, oldest first. */
export const terms = (history: readonly Exchange[]): readonly Exchange[] => history.filter(isRegistration)

/** Writes that were accepted although a newer term had been registered before their request began. There must be none. */
export function staleWritesAccepted(history: readonly Exchange[]): readonly Exchange[] {
  const registered = terms(history)
  return history.filter(
    exchange =>
      exchange.isFenced &&
      exchange.status < 300 &&
      registered.some(term => (term.epoch ?? 0) > (exchange.epoch ?? 0) && term.endedAt < exchange.beganAt),
  )
}

/** Terms must come in the order of their epochs, each of one instance. */
export function termsOutOfOrder(history: readonly Exchange[]): readonly Exchange[] {
  const registered = terms(history)
  return registered.filter((term, index) => {
    const before = registered[index - 1]
    if (before === undefined) return false
    const again = term.epoch === before.epoch && term.instance === before.instance
    return !again && (term.epoch ?? 0) <= (before.epoch ?? 0)
  })
}
