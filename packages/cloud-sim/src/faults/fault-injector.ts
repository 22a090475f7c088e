import type { SeededRandom } from '../seeded-random.ts'
import { type SimChange, SimStoreError } from '../sim-store.ts'
import { type FaultPlan, PRESETS, type PresetName } from './fault-plan.ts'
import { patchPlan, presetNamed } from './patch-fault-plan.ts'

/** A zone without capacity for a type. */
export interface CapacityShortage {
  readonly availability_zone: string
  readonly instance_type: string
  /** Number of machines that still fit. */
  readonly available: number
}

export const DELIVERIES = ['lost_request', 'lost_answer', 'held', 'empty', 'truncated', 'html'] as const
/** Network fault of a call or its response. */
export type Delivery = (typeof DELIVERIES)[number]

/** A fault that the next calls of one action are certain to get. */
export interface ScriptedFault {
  readonly action: string
  readonly times: number
  /** A network fault, or an EC2 error before the call has any effect. */
  readonly fault: Delivery | { readonly code: string; readonly status: number; readonly message: string }
}

export interface FaultState {
  /** Preset that the plan is based on. */
  readonly preset: PresetName
  readonly plan: FaultPlan
  readonly scarce: readonly CapacityShortage[]
  readonly scripted: readonly ScriptedFault[]
}

/** Unknown members are rejected by name. */
export interface FaultChanges extends Partial<FaultPlan> {
  readonly preset?: unknown
}

/** The stored fault plan, and the random draws that decide which faults occur. */
export interface FaultInjector {
  state(): FaultState
  plan(): FaultPlan
  /** Applies `preset` first, then the single changes. An invalid change rejects all of them. */
  patch(changes: FaultChanges): void
  usePreset(name: unknown): void
  /** Resets to the preset: no scarcity, no scripted faults. */
  reset(): void
  /** Null restores the zone's capacity. */
  setCapacity(offering: Omit<CapacityShortage, 'available'>, available: number | null): void
  script(fault: ScriptedFault): void
  /** Scripted fault for this call; reading it consumes it. No two denials have the same text, as in EC2. */
  takeScripted(action: string): ScriptedFault['fault'] | null
  /** Draws whether an event of this rate happens now. Each call is a new draw. */
  strikes(rate: number, ...purpose: readonly string[]): boolean
  /** A new draw, at least 0 and below 1. */
  draw(...purpose: readonly string[]): number
  /** Scarcities after this many machines were launched, to be stored with them. */
  capacityTaken(offering: Omit<CapacityShortage, 'available'>, count: number): readonly SimChange[]
}

/** The part of the state that the fault injector needs. */
export interface FaultStorage {
  readonly chance: SeededRandom
  now(): number
  stored(kind: string): ReadonlyMap<string, string>
  commit(change: { readonly records: readonly SimChange[] }): void
}

const KIND = 'faults'
const KEY = 'book'
/** A thousand characters, as in EC2. */
const ENCODED_PARTS = 16
const ENCODED_PART_CHARS = 64

/** `preset` applies until something is changed. */
export function faultInjector(sim: FaultStorage, preset: PresetName): FaultInjector {
  const first: FaultState = { preset, plan: PRESETS[preset], scarce: [], scripted: [] }
  const state = remembered(first, () => sim.stored(KIND).get(KEY))
  let draws = 0
  let denials = 0
  const put = (changes: Partial<FaultState>) => sim.commit({ records: [changed(state(), changes)] })
  const patch = ({ preset, ...changes }: FaultChanges) => {
    const base = preset === undefined ? { name: state().preset, plan: state().plan } : presetNamed(preset)
    put({ preset: base.name, plan: patchPlan(base.plan, changes) })
  }
  const draw = (...purpose: readonly string[]) => {
    draws += 1
    return sim.chance.fraction('fault', ...purpose, sim.now(), draws)
  }
  /** Not counted as a draw, which would change the faults of later calls. */
  const encodedMessage = () => {
    denials += 1
    return sim.chance.hex(ENCODED_PART_CHARS, 'denial', sim.now(), denials).repeat(ENCODED_PARTS)
  }
  return {
    state,
    plan: () => state().plan,
    patch,
    usePreset: preset => patch({ preset }),
    reset: () => put({ plan: PRESETS[state().preset], scarce: [], scripted: [] }),
    setCapacity: (offering, available) => put({ scarce: withCapacity(state().scarce, offering, available) }),
    script: fault => put({ scripted: [...state().scripted, fault] }),
    takeScripted(action) {
      const found = state().scripted.find(each => each.action === action)
      if (!found) return null
      const used = state().scripted.map(each => (each === found ? { ...each, times: each.times - 1 } : each))
      put({ scripted: used.filter(each => each.times > 0) })
      return isDenial(found.fault) ? withEncodedMessage(found.fault, encodedMessage()) : found.fault
    },
    strikes: (rate, ...purpose) => rate > 0 && draw(...purpose) < rate,
    draw,
    capacityTaken(offering, count) {
      const found = state().scarce.find(each => sameOffering(each, offering))
      if (!found || count === 0) return []
      return [
        changed(state(), { scarce: withCapacity(state().scarce, offering, Math.max(0, found.available - count)) }),
      ]
    },
  }
}

type ScriptedError = Exclude<ScriptedFault['fault'], Delivery>

const isDenial = (fault: ScriptedFault['fault']): fault is ScriptedError =>
  typeof fault !== 'string' && fault.code === 'UnauthorizedOperation'

/** EC2 ends each denial with an encoded message, a different one every time, that an administrator can decode. */
const withEncodedMessage = ({ message, ...error }: ScriptedError, encoded: string): ScriptedError => ({
  ...error,
  message: `${message.replace(/\.?$/, '.')} Encoded authorization failure message: ${encoded}`,
})

/** The stored state, parsed only when it has changed. A plan of an older version lacks newer members. */
function remembered(first: FaultState, text: () => string | undefined): () => FaultState {
  let read: string | undefined
  let state = first
  return () => {
    const now = text()
    if (now === undefined) return first
    if (now !== read) {
      state = parsed(now)
      read = now
    }
    return state
  }
}

function parsed(text: string): FaultState {
  try {
    const value: FaultState = JSON.parse(text)
    // Shortages of an older version have another shape.
    const scarce = value.scarce.filter(({ available }) => available !== undefined)
    return { ...value, plan: { ...PRESETS.calm, ...value.plan }, scarce }
  } catch (cause) {
    throw new SimStoreError('the stored fault plan is damaged', { cause })
  }
}

const changed = (state: FaultState, changes: Partial<FaultState>): SimChange => ({
  kind: KIND,
  key: KEY,
  value: JSON.stringify({ ...state, ...changes }),
})

export const sameOffering = (a: Omit<CapacityShortage, 'available'>, b: Omit<CapacityShortage, 'available'>): boolean =>
  a.availability_zone === b.availability_zone && a.instance_type === b.instance_type

function withCapacity(
  scarce: readonly CapacityShortage[],
  offering: Omit<CapacityShortage, 'available'>,
  available: number | null,
) {
  const others = scarce.filter(each => !sameOffering(each, offering))
  const { availability_zone, instance_type } = offering
  return available === null ? others : [...others, { availability_zone, instance_type, available }]
}
