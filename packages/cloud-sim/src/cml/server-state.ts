import type { CmlFaults } from './faults.ts'
import { type LicensingRecord, UNLICENSED } from './license/licensing-record.ts'

/** Default login of an unchanged machine. */
export const DEFAULT_CML_LOGIN = { username: 'admin', password: 'lablet' } as const

export interface CmlUser {
  readonly id: string
  readonly username: string
  readonly password: string
  readonly fullname: string
  readonly description: string
  readonly email: string
  readonly admin: boolean
  readonly created_ms: number
  readonly modified_ms: number
}

export interface CmlSession {
  /** Last part of its token, unique per session. */
  readonly signature: string
  readonly user_id: string
  readonly issued_ms: number
  readonly expires_ms: number
}

export const NOTICE_LEVELS = ['INFO', 'SUCCESS', 'WARNING', 'ERROR'] as const

export interface CmlNotice {
  readonly id: string
  readonly level: (typeof NOTICE_LEVELS)[number]
  readonly label: string
  readonly content: string
  readonly enabled: boolean
  readonly activated_ms: number | null
  readonly acknowledged: Readonly<Record<string, boolean>>
}

/** ONLINE means cordoned: connected, but no node may start. */
export const ADMISSION_STATES = ['UNREGISTERED', 'REGISTERED', 'ONLINE', 'READY'] as const
export type AdmissionState = (typeof ADMISSION_STATES)[number]

/** Stored state of one CML server, except labs and telemetry. */
export interface CmlServer {
  readonly users: readonly CmlUser[]
  readonly users_made: number
  readonly sessions: readonly CmlSession[]
  readonly logins_made: number
  readonly session_timeout_s: number
  readonly admission_state: AdmissionState
  readonly maintenance: { readonly is_on: boolean; readonly notice: string | null }
  readonly notices: readonly CmlNotice[]
  readonly notices_made: number
  readonly opt_in: boolean | null
  /** Time of each user's last recorded activity, by user id. */
  readonly active_ms: Readonly<Record<string, number>>
  readonly licensing: LicensingRecord
  /** In order of creation. */
  readonly lab_ids: readonly string[]
  readonly labs_made: number
  readonly launches_made: number
  /** Number of certificate replacements. */
  readonly certificates_replaced: number
  /** Faults changed on this machine; the rest follows the preset. */
  readonly fault_changes: Partial<CmlFaults>
}

const SESSION_TIMEOUT_S = 86_400

export function freshServer(adminId: string, createdMs: number, adminPassword: string): CmlServer {
  const admin: CmlUser = {
    username: DEFAULT_CML_LOGIN.username,
    password: adminPassword,
    id: adminId,
    fullname: '',
    description: '',
    email: '',
    admin: true,
    created_ms: createdMs,
    modified_ms: createdMs,
  }
  return {
    users: [admin],
    users_made: 1,
    sessions: [],
    logins_made: 0,
    session_timeout_s: SESSION_TIMEOUT_S,
    admission_state: 'READY',
    maintenance: { is_on: false, notice: null },
    notices: [],
    notices_made: 0,
    opt_in: true,
    active_ms: {},
    licensing: UNLICENSED,
    lab_ids: [],
    labs_made: 0,
    launches_made: 0,
    certificates_replaced: 0,
    fault_changes: {},
  }
}

/** Changing the password ends every session of the user. */
export function withPassword(server: CmlServer, userId: string, password: string): CmlServer {
  return {
    ...server,
    users: server.users.map(user => (user.id === userId ? { ...user, password } : user)),
    sessions: server.sessions.filter(session => session.user_id !== userId),
  }
}
