import type { SeededRandom } from '../seeded-random.ts'
import { type SimChange, SimStoreError } from '../store.ts'
import { type FaultPlan, PRESETS, type PresetName } from './fault-plan.ts'
import { patchPlan, presetNamed } from './plan-patch.ts'

/** A zone that has run out of a type. */
export interface CapacityShortage {
  readonly availability_zone: string
  readonly instance_type: string
  /** Machines that still fit. */
  readonly room: number
}

export const DELIVERIES = ['lost_request', 'lost_answer', 'held', 'empty', 'truncated', 'html'] as const
/** Network fault of a call or its response. */
export type Delivery = (typeof DELIVERIES)[number]

/** A fault that the next calls of one action meet for certain. */
export interface ScriptedFault {
  readonly action: string
  readonly times: number
  /** A delivery, or an error of EC2 before anything has happened. */
  readonly fault: Delivery | { readonly code: string; readonly status: number; readonly message: string }
}

export interface FaultState {
  /** Preset that the plan started from. */
  readonly preset: PresetName
  readonly plan: FaultPlan
  readonly scarce: readonly CapacityShortage[]
  readonly scripted: readonly ScriptedFault[]
}

/** Whatever else is in it is refused by its name. */
export interface FaultChanges extends Partial<FaultPlan> {
  readonly preset?: unknown
}

/** The fault plan of a world, stored with it, and the draws that decide what strikes. */
export interface FaultInjector {
  state(): FaultState
  plan(): FaultPlan
  /** `preset` goes first, then the single changes. Nothing is taken when one of them is wrong. */
  patch(changes: FaultChanges): void
  usePreset(name: unknown): void
  /** Back to the preset: nothing scarce, nothing scripted. */
  reset(): void
  /** Room of null frees the zone again. */
  setRoom(offering: Omit<CapacityShortage, 'room'>, room: number | null): void
  script(fault: ScriptedFault): void
  /** Scripted fault for this call; reading it consumes it. */
  takeScripted(action: string): ScriptedFault['fault'] | null
  /** Whether what happens at this rate happens now. Each question is a draw of its own. */
  strikes(rate: number, ...purpose: readonly string[]): boolean
  /** A draw of its own, at least 0 and below 1. */
  draw(...purpose: readonly string[]): number
  /** The scarcities after so many machines took their place, to be stored with them. */
  roomTaken(offering: Omit<CapacityShortage, 'room'>, count: number): readonly SimChange[]
}

/** The part of a world that a fault book needs. */
export interface FaultStorage {
  readonly chance: SeededRandom
  now(): number
  stored(kind: string): ReadonlyMap<string, string>
  commit(change: { readonly records: readonly SimChange[] }): void
}

const KIND = 'faults'
const KEY = 'book'

/** `preset` holds until somebody changes anything. */
export function faultInjector(world: FaultStorage, preset: PresetName): FaultInjector {
  const first: FaultState = { preset, plan: PRESETS[preset], scarce: [], scripted: [] }
  const state = remembered(first, () => world.stored(KIND).get(KEY))
  let draws = 0
  const put = (changes: Partial<FaultState>) => world.commit({ records: [changed(state(), changes)] })
  const patch = ({ preset, ...changes }: FaultChanges) => {
    const base = preset === undefined ? { name: state().preset, plan: state().plan } : presetNamed(preset)
    put({ preset: base.name, plan: patchPlan(base.plan, changes) })
  }
  const draw = (...purpose: readonly string[]) => {
    draws += 1
    return world.chance.fraction('fault', ...purpose, world.now(), draws)
  }
  return {
    state,
    plan: () => state().plan,
    patch,
    usePreset: preset => patch({ preset }),
    reset: () => put({ plan: PRESETS[state().preset], scarce: [], scripted: [] }),
    setRoom: (offering, room) => put({ scarce: withRoom(state().scarce, offering, room) }),
    script: fault => put({ scripted: [...state().scripted, fault] }),
    takeScripted(action) {
      const found = state().scripted.find(each => each.action === action)
      if (!found) return null
      const used = state().scripted.map(each => (each === found ? { ...each, times: each.times - 1 } : each))
      put({ scripted: used.filter(each => each.times > 0) })
      return found.fault
    },
    strikes: (rate, ...purpose) => rate > 0 && draw(...purpose) < rate,
    draw,
    roomTaken(offering, count) {
      const found = state().scarce.find(each => sameOffering(each, offering))
      if (!found || count === 0) return []
      return [changed(state(), { scarce: withRoom(state().scarce, offering, Math.max(0, found.room - count)) })]
    },
  }
}

/** The state in a text that is parsed only when it has changed. A plan of an older version lacks what came later. */
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
    return { ...value, plan: { ...PRESETS.calm, ...value.plan } }
  } catch (cause) {
    throw new SimStoreError('the stored fault plan is damaged', { cause })
  }
}

const changed = (state: FaultState, changes: Partial<FaultState>): SimChange => ({
  kind: KIND,
  key: KEY,
  value: JSON.stringify({ ...state, ...changes }),
})

export const sameOffering = (a: Omit<CapacityShortage, 'room'>, b: Omit<CapacityShortage, 'room'>): boolean =>
  a.availability_zone === b.availability_zone && a.instance_type === b.instance_type

function withRoom(scarce: readonly CapacityShortage[], offering: Omit<CapacityShortage, 'room'>, room: number | null) {
  const others = scarce.filter(each => !sameOffering(each, offering))
  const { availability_zone, instance_type } = offering
  return room === null ? others : [...others, { availability_zone, instance_type, room }]
}
