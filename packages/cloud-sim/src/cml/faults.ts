import type { PresetName } from '../faults/fault-plan.ts'
import { type Check, flag, integer, listOf, nullable, number, object, oneOf, text } from './input-checks.ts'

/**
 * Faults of one CML server, all off by default. They are stored with the machine and survive a restart of the
 * simulator.
 */
export interface CmlFaults {
  /** Reported version instead of the image's; responses from 2.11 on have another format. */
  readonly version: string | null
  /** Factor on the session timeout. */
  readonly session_lifetime_factor: number
  /** Further logins return 429; 0 disables the limit. In real time, independent of the speed. */
  readonly logins_per_minute: number
  /** Every n-th call returns 500 and has no effect; 0 disables it. */
  readonly fail_one_in: number
  /** Path prefixes, such as `/telemetry`, that return 403 to every user. */
  readonly refused_paths: readonly string[]
  /** Cut: connections to the server and its nodes are closed unanswered, while its labs keep running. */
  readonly network: 'reached' | 'cut'
  /** Labels or definitions of nodes that start but never finish booting. */
  readonly never_boot: readonly string[]
  readonly boot_time_factor: number
  /** Overrides the value of the machine's type. */
  readonly kvm_vmx_enabled: boolean | null
  readonly refplat_images_available: boolean
  /** Memory in use by other processes on the host. */
  readonly ram_taken_mib: number
  readonly running_orphans: number
  /** Overrides the quota of the license. */
  readonly node_quota: number | null
  /** Unreachable: registrations retry, and a deregistration leaves its license in use. */
  readonly license_server: 'reached' | 'not_reached'
  readonly license_tokens: 'valid' | 'invalid'
  readonly compliance: 'IN_COMPLIANCE' | 'OUT_OF_COMPLIANCE'
  readonly deregister_while_labs_run: 'refused' | 'allowed'
  /** Delay of the response to a deregistration, in simulated seconds. */
  readonly deregistration_held_s: number
}

export const NO_FAULTS: CmlFaults = {
  version: null,
  session_lifetime_factor: 1,
  logins_per_minute: 60,
  fail_one_in: 0,
  refused_paths: [],
  network: 'reached',
  never_boot: [],
  boot_time_factor: 1,
  kvm_vmx_enabled: null,
  refplat_images_available: true,
  ram_taken_mib: 0,
  running_orphans: 0,
  node_quota: null,
  license_server: 'reached',
  license_tokens: 'valid',
  compliance: 'IN_COMPLIANCE',
  deregister_while_labs_run: 'refused',
  deregistration_held_s: 0,
}

/** Default faults of CML servers per preset. A correct controller still succeeds with `hostile`. */
export const CML_PRESETS: Readonly<Record<PresetName, CmlFaults>> = {
  plain: NO_FAULTS,
  calm: NO_FAULTS,
  realistic: { ...NO_FAULTS, fail_one_in: 500, deregistration_held_s: 15 },
  hostile: {
    ...NO_FAULTS,
    fail_one_in: 15,
    session_lifetime_factor: 0.005,
    logins_per_minute: 30,
    boot_time_factor: 1.25,
    running_orphans: 1,
    deregistration_held_s: 40,
  },
}

const MUCH = 1_000_000

export const faultsPatch: Check<Partial<CmlFaults>> = object<object, CmlFaults>(
  {},
  {
    version: nullable(text(64, 1)),
    session_lifetime_factor: number(0, MUCH),
    logins_per_minute: integer(0, MUCH),
    fail_one_in: integer(0, MUCH),
    refused_paths: listOf(text(250, 1)),
    network: oneOf('reached', 'cut'),
    never_boot: listOf(text(250, 1)),
    boot_time_factor: number(0, MUCH),
    kvm_vmx_enabled: nullable(flag),
    refplat_images_available: flag,
    ram_taken_mib: integer(0, MUCH),
    running_orphans: integer(0, MUCH),
    node_quota: nullable(integer(0, MUCH)),
    license_server: oneOf('reached', 'not_reached'),
    license_tokens: oneOf('valid', 'invalid'),
    compliance: oneOf('IN_COMPLIANCE', 'OUT_OF_COMPLIANCE'),
    deregister_while_labs_run: oneOf('refused', 'allowed'),
    deregistration_held_s: number(0, MUCH),
  },
)
