export type When = 'before' | 'after'

/** Faults planned before or after the call with a given number. */
export interface FaultPoints<Caller> {
  plan(call: number, when: When, act: (caller: Caller) => void): void
  /** Runs the faults planned for that point. Returns whether there was any. */
  trigger(call: number, when: When, caller: Caller): boolean
  /** Drops all planned faults. */
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

/** The result of a call of a dead process. A new promise for each call: a shared one would retain every waiter. */
export const never = (): Promise<never> => new Promise(() => undefined)
