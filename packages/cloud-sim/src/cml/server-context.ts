import type { SimInstance } from '../ec2/instance.ts'
import type { CmlFaults } from './faults.ts'
import type { CmlHost } from './host-hardware.ts'
import type { CmlAnswer, CmlRequest } from './http-messages.ts'
import type { CmlLab } from './labs/lab.ts'
import type { Seat } from './license/smart-account-seat.ts'
import type { CmlServer, CmlUser } from './server-state.ts'
import type { TelemetryEvent } from './telemetry-events.ts'

type Purpose = readonly (string | number)[]

/** One CML server at one instant: everything that a response depends on. */
export interface CmlServerContext {
  readonly nowMs: number
  readonly speed: number
  readonly instance: SimInstance
  readonly address: string
  readonly host: CmlHost
  /** Whether the boot has finished. */
  readonly isBooted: boolean
  readonly version: CmlVersion
  readonly server: CmlServer
  /** Faults in effect, and the preset without changes of this machine. */
  readonly faults: CmlFaults
  readonly preset_faults: CmlFaults
  readonly labs: readonly CmlLab[]
  /** Whether the Smart Account has a license for this server, including the one that it holds. */
  isLicenseLeft(): boolean
  /** Events up to now, oldest first. */
  readonly telemetry: () => readonly TelemetryEvent[]
  /** The same value for the same purpose on this machine, and different on all others. */
  uuid(...purpose: Purpose): string
  fraction(...purpose: Purpose): number
  hex(length: number, ...purpose: Purpose): string
}

export interface CmlVersion {
  readonly text: string
  readonly minor: number
}

/** Lenient: servers spell versions differently. */
export function versionOf(text: string): CmlVersion {
  const [, minor = '0'] = /^\d+\.(\d+)/.exec(text) ?? []
  return { text, minor: Number(minor) }
}

/** From 2.11 on licensing returns its whole status, and system_information has more members. */
export const isModern = ({ version }: CmlServerContext): boolean => version.minor >= 11

/** Changes of one call, committed together. */
export interface CmlChange {
  readonly server?: CmlServer
  readonly labs?: readonly CmlLab[]
  readonly removed_lab_id?: string
  readonly events?: readonly TelemetryEvent[]
  /** New entry of this machine in the Smart Account; null removes it. */
  readonly seat?: Seat | null
}

export interface Outcome extends CmlAnswer {
  readonly change?: CmlChange
}

export interface OpenCall {
  readonly context: CmlServerContext
  readonly request: CmlRequest
  /** Path parameters of the route. */
  readonly params: Readonly<Record<string, string>>
}

export interface UserCall extends OpenCall {
  readonly user: CmlUser
  /** Signature of the session's token. */
  readonly session: string
}

export const scaledMs = (context: CmlServerContext, seconds: number): number =>
  Math.round((seconds * 1000) / context.speed)

export const labOf = (context: CmlServerContext, labId: string): CmlLab | undefined =>
  context.labs.find(lab => lab.id === labId)

/** An all-in-one server has one compute host: itself. */
export const computeId = (context: CmlServerContext): string => context.uuid('compute')
export const hostnameOf = (context: CmlServerContext): string => `cml-${context.instance.instance_id.slice(-8)}`

/** At least one compute host can start nodes. */
export const isReady = (context: CmlServerContext): boolean =>
  context.isBooted && context.server.admission_state === 'READY'
