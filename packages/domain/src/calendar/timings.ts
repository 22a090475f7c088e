import { z } from 'zod'
import type { LabletDefinition } from '../definition/lablet-definition.ts'
import { documentFields } from '../document-fields.ts'
import { AUTO, type SettingValues } from '../fleet/settings.ts'
import { definitionBootSeconds } from '../lab/node-needs.ts'

const MINUTE_MS = 60_000
export const RECENT_MAX = 1000

/** Measured durations of one thing that happens again and again. */
export const Timing = z
  .object({
    ...documentFields('boot:metal'),
    recent_ms: z
      .array(z.int().nonnegative())
      .max(RECENT_MAX)
      .meta({ description: 'The latest durations in milliseconds, newest last.', example: [540_000] }),
  })
  .meta({ id: 'Timing', description: 'The latest measured durations of one thing.' })
export type Timing = z.infer<typeof Timing>

/** The ids of timings. */
export const timingId = {
  boot: (template: string): string => `boot:${template}`,
  firstBoot: (template: string): string => `first_boot:${template}`,
  lab: (definition: string): string => `lab:${definition}`,
  teardown: 'teardown',
} as const

const LAB_STARTS = 50

/** The timing with one more duration. Labs change, so only their latest starts are kept. */
export const withDuration = ({ id, recent_ms }: Pick<Timing, 'id' | 'recent_ms'>, ms: number): number[] =>
  [...recent_ms, Math.max(0, Math.round(ms))].slice(id.startsWith(timingId.lab('')) ? -LAB_STARTS : -RECENT_MAX)

/** How long machines take until CML serves. */
export interface BootTime {
  readonly meanMs: number
  /** How long before its first use a machine is started: all but one boot in a thousand are faster. */
  readonly wakeMs: number
}

export type LeadDefinition = Pick<LabletDefinition, 'name' | 'boot_lead_minutes' | 'node_definitions_required'>

export type LeadSettings = Pick<SettingValues, 'boot_lead_minutes'>

/** How long before its slot a lab starts, and why. `starts`: how many of its starts were measured lately. */
export interface Lead {
  readonly ms: number
  readonly source: 'definition' | 'settings' | 'measured' | 'node_types'
  readonly starts: number
}

/** Measured durations, with defaults where too little was measured. */
export interface Timings {
  readonly bootMs: (template: string) => BootTime
  readonly firstBootMs: (template: string) => BootTime
  readonly lead: (definition: LeadDefinition, settings: LeadSettings) => Lead
  readonly leadMs: (definition: LeadDefinition, settings: LeadSettings) => number
  /** How long the removal of a lab takes. */
  readonly teardownMs: number
}

const BOOT: BootTime = { meanMs: 10 * MINUTE_MS, wakeMs: 20 * MINUTE_MS }
const FIRST_BOOT: BootTime = { meanMs: 13 * MINUTE_MS, wakeMs: 25 * MINUTE_MS }
const BOOT_QUANTILE = 0.999
/** With fewer boots, the default counts too: the slowest of them says little about the next one. */
const BOOTS_MIN = 100
const WAKE_MARGIN_MS = MINUTE_MS

const LAB_QUANTILE = 0.99
/** With fewer starts, the node types count too. */
const LAB_STARTS_MIN = 10
const NODE_TYPES_MARGIN_MS = 2 * MINUTE_MS
/** The time that controllers need themselves. */
const LEAD_MARGIN_MS = 30_000

const TEARDOWNS = 200
const TEARDOWN_QUANTILE = 0.99
const TEARDOWN_MS = 2 * MINUTE_MS

export function timingsOf(documents: Iterable<Pick<Timing, 'id' | 'recent_ms'>>): Timings {
  const byId = new Map<string, readonly number[]>()
  for (const { id, recent_ms } of documents) byId.set(id, recent_ms)
  const recent = (id: string) => byId.get(id) ?? []
  const lead = leadOf(recent)
  return {
    bootMs: remembered(template => bootTimeOf(recent(timingId.boot(template)), BOOT)),
    firstBootMs: remembered(template => bootTimeOf(recent(timingId.firstBoot(template)), FIRST_BOOT)),
    lead,
    leadMs: (definition, settings) => lead(definition, settings).ms,
    teardownMs: quantile(recent(timingId.teardown).slice(-TEARDOWNS), TEARDOWN_QUANTILE) ?? TEARDOWN_MS,
  }
}

function leadOf(recent: (id: string) => readonly number[]): Timings['lead'] {
  const measured = remembered(name => labLeadOf(recent(timingId.lab(name))))
  return ({ name, boot_lead_minutes, node_definitions_required }, settings) => {
    const set = boot_lead_minutes ?? settings.boot_lead_minutes
    const { ms, starts } = measured(name)
    if (set !== AUTO)
      return { ms: set * MINUTE_MS, source: boot_lead_minutes === null ? 'settings' : 'definition', starts }
    if (starts >= LAB_STARTS_MIN) return { ms, source: 'measured', starts }
    const nodesMs = definitionBootSeconds(node_definitions_required) * 1000 + NODE_TYPES_MARGIN_MS
    return { ms: Math.max(ms, nodesMs), source: 'node_types', starts }
  }
}

function labLeadOf(all: readonly number[]): { ms: number; starts: number } {
  const recent = all.slice(-LAB_STARTS)
  return { ms: (quantile(recent, LAB_QUANTILE) ?? 0) + LEAD_MARGIN_MS, starts: recent.length }
}

function bootTimeOf(recent: readonly number[], fallback: BootTime): BootTime {
  const slowest = quantile(recent, BOOT_QUANTILE)
  if (slowest === null) return fallback
  const wakeMs = slowest + WAKE_MARGIN_MS
  const meanMs = recent.reduce((sum, ms) => sum + ms, 0) / recent.length
  return { meanMs, wakeMs: recent.length >= BOOTS_MIN ? wakeMs : Math.max(fallback.wakeMs, wakeMs) }
}

/** By the nearest rank, so that it is a duration that was measured; null without any. */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null
}

function remembered<T>(compute: (key: string) => T): (key: string) => T {
  const known = new Map<string, { readonly value: T }>()
  return key => {
    const found = known.get(key) ?? { value: compute(key) }
    known.set(key, found)
    return found.value
  }
}
