export type When = 'before' | 'after'

/** Faults planned before or after the call with a given number. */
export interface FaultPoints<Caller> {
  plan(call: number, when: When, act: (caller: Caller) => void): void
  /** Does what was planned for that moment, and answers whether there was anything. */
  trigger(call: number, when: When, caller: Caller): boolean
  /** Nothing strikes any more. */
  clear(): void
}

interface PlannedFault<Caller> {
  readonly call: number
  readonly when: When
  readonly act: (caller: Caller) => void
}

export function faultPoints<Caller>(): FaultPoints<Caller> {
  let planned: readonly PlannedFault<Caller>[] = []
  return {
    plan(call, when, act) {
      planned = [...planned, { call, when, act }]
    },
    trigger(call, when, caller) {
      if (planned.length === 0) return false
      const due = planned.filter(fault => fault.call === call && fault.when === when)
      planned = planned.filter(fault => !due.includes(fault))
      for (const { act } of due) act(caller)
      return due.length > 0
    },
    clear() {
      planned = []
    },
  }
}

/** A process died: whatever waits for an answer waits for ever. Each on its own, or one would hold on to all who ever waited. */
export const never = (): Promise<never> => new Promise(() => undefined)
