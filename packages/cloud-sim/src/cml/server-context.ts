import type { SimInstance } from '../ec2/instance.ts'
import type { CmlFaults } from './faults.ts'
import type { CmlHost } from './hosts.ts'
import type { CmlAnswer, CmlRequest } from './http-messages.ts'
import type { CmlLab } from './labs/lab.ts'
import type { Seat } from './license/smart-account.ts'
import type { CmlServer, CmlUser } from './server.ts'
import type { TelemetryEvent } from './telemetry.ts'

type Purpose = readonly (string | number)[]

/** One CML server at one instant: all that an answer may depend on. */
export interface CmlServerContext {
  readonly nowMs: number
  readonly speed: number
  readonly instance: SimInstance
  readonly address: string
  readonly host: CmlHost
  /** Whether the boot has come to its end. */
  readonly isBooted: boolean
  readonly version: CmlVersion
  readonly server: CmlServer
  /** As they are, and as they were without changes on this machine. */
  readonly faults: CmlFaults
  readonly preset_faults: CmlFaults
  readonly labs: readonly CmlLab[]
  /** Whether the Smart Account has a license for this server, be it the one that it holds. */
  isLicenseLeft(): boolean
  /** Oldest first, only what has happened by now. */
  readonly telemetry: () => readonly TelemetryEvent[]
  /** The same for the same purpose on this machine, and unlike all others. */
  uuid(...purpose: Purpose): string
  fraction(...purpose: Purpose): number
  hex(length: number, ...purpose: Purpose): string
}

export interface CmlVersion {
  readonly text: string
  readonly minor: number
}

/** Parsed as leniently as servers spell it. */
export function versionOf(text: string): CmlVersion {
  const [, minor = '0'] = /^\d+\.(\d+)/.exec(text) ?? []
  return { text, minor: Number(minor) }
}

/** From 2.11 on licensing answers with its whole status, and system_information has more members. */
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
  readonly scene: CmlServerContext
  readonly request: CmlRequest
  /** The parts of the path that the route names. */
  readonly params: Readonly<Record<string, string>>
}

export interface UserCall extends OpenCall {
  readonly user: CmlUser
  /** The signature of the session in which it comes. */
  readonly session: string
}

export const scaledMs = (scene: CmlServerContext, seconds: number): number => Math.round((seconds * 1000) / scene.speed)

export const labOf = (scene: CmlServerContext, labId: string): CmlLab | undefined =>
  scene.labs.find(lab => lab.id === labId)

/** Computes of an all-in-one server: itself. */
export const computeId = (scene: CmlServerContext): string => scene.uuid('compute')
export const hostnameOf = (scene: CmlServerContext): string => `cml-${scene.instance.instance_id.slice(-8)}`

/** At least one compute host can start nodes. */
export const isReady = (scene: CmlServerContext): boolean => scene.isBooted && scene.server.admission_state === 'READY'
