import { ROLES } from '@lcm/domain/actor'
import { SETTING_SOURCES, SettingsPatch, SettingValues } from '@lcm/domain/fleet/settings'
import { Instant } from '@lcm/domain/instant'
import { AuditEntry } from '@lcm/domain/journal-records'
import { z } from 'zod'
import { listOf, TimePage } from './common-schemas.ts'
import { ADMINS, EVERYONE, OPERATORS, type RouteSpec } from './route-spec.ts'

/** The path of the control API of a simulated cloud. */
export const SIM_CONTROL_PATH = '/sim/v1'

export const Info = z
  .object({
    version: z.string().meta({ description: 'The version of LCM.', example: '0.1.0' }),
    profile: z.enum(['embedded', 'cluster']).meta({ description: 'One process, or several processes with etcd.' }),
    cloud: z.enum(['sim', 'aws']).meta({ description: 'The simulated cloud, or AWS.' }),
    regions: z
      .array(z.string())
      .meta({ description: 'The configured regions, the default first.', example: ['us-east-1'] }),
    sim_control: z.literal(SIM_CONTROL_PATH).nullable().meta({
      description: 'The path where admins control the simulated cloud; null for AWS or a simulator in another process.',
    }),
    actor: z
      .object({
        id: z.string().meta({ description: 'Stays the same when the name changes.', example: 'admin' }),
        name: z.string().meta({ description: 'The display name.', example: 'admin' }),
        role: z.enum(ROLES).meta({ description: 'What the caller may do.', example: 'admin' }),
      })
      .meta({ description: 'The caller.' }),
  })
  .meta({ id: 'Info', description: 'This LCM and the caller.' })

const AuditQuery = TimePage.extend({
  resource: z.string().max(200).optional().meta({
    description: 'Only changes of this resource, with its kind.',
    example: 'worker:w-5k1r2m3n8pq4t',
  }),
  scaling: z.union([z.boolean(), z.stringbool()]).default(false).meta({
    description: 'Also returns what the scaling policies did or refused.',
  }),
})
export const AuditList = listOf(AuditEntry).meta({ id: 'AuditList', description: 'A page of changes.' })

export const KeyRotation = z
  .object({
    active_key: z.string().meta({ description: 'The id of the key that now seals.', example: '5f0c9a1e' }),
    resealed: z.int().meta({ description: 'How many texts this request sealed again.', example: 500 }),
    done: z.boolean().meta({ description: 'Whether the rotation has ended; otherwise repeat the request.' }),
    removable_keys: z.array(z.string()).meta({
      description: 'Ids of the older keys that can now be removed from `LCM_SECRET_KEY`.',
      example: ['b7d2e604'],
    }),
  })
  .meta({ id: 'KeyRotation', description: 'The progress of a rotation of the secret key.' })

const settingSource = z.enum(SETTING_SOURCES).meta({
  description: 'Where the value comes from: `given` at run time, the `environment`, or the `default`.',
  example: 'default',
})
type SettingShapes = typeof SettingValues.shape
type SettingView<T extends z.ZodType> = z.ZodObject<{ value: T; source: typeof settingSource }>
type SettingViews = { [Name in keyof SettingShapes]: SettingView<SettingShapes[Name]> }

const shownValues = {
  ...SettingValues.shape,
  auto_approve: z
    .string()
    .meta({ description: 'As it was set. Users and authors read `…` in place of ids.', example: 'none' }),
}
const settingViews = Object.fromEntries(
  Object.entries(shownValues).map(([name, value]) => [
    name,
    z.object({ value, source: settingSource }).meta({ description: z.globalRegistry.get(value)?.description }),
  ]),
) as SettingViews

export const SettingsView = z
  .object({
    version: z.int().meta({ description: 'Grows by one with every write; 0 before the first.', example: 4 }),
    updated_at: Instant.nullable().meta({ description: 'When the settings were last changed at run time.' }),
    settings: z.object(settingViews).meta({ description: 'Each setting with its value and its source.' }),
  })
  .meta({ id: 'Settings', description: 'All settings.' })

export const ADMINISTRATION_ROUTES = {
  getSettings: {
    method: 'GET',
    path: '/settings',
    summary: 'Get the settings',
    description: 'Returns every setting with its value and its source.',
    access: EVERYONE,
    status: 200,
    answer: SettingsView,
    problems: [],
  },
  patchSettings: {
    method: 'PATCH',
    path: '/settings',
    summary: 'Change settings',
    description: 'Changes settings at run time. Null resets a setting to the environment or the default.',
    access: ADMINS,
    body: SettingsPatch,
    status: 200,
    answer: SettingsView,
    ifMatch: 'optional',
    problems: ['version_mismatch'],
  },
  listAudit: {
    method: 'GET',
    path: '/audit',
    summary: 'List changes',
    description: 'Returns who changed what and when, newest first.',
    access: OPERATORS,
    query: AuditQuery,
    status: 200,
    answer: AuditList,
    problems: [],
  },
  info: {
    method: 'GET',
    path: '/info',
    summary: 'Get information about LCM and the caller',
    description: 'Returns the version, the profile, the regions and the caller.',
    access: EVERYONE,
    status: 200,
    answer: Info,
    problems: [],
  },
  rotateSecretKey: {
    method: 'POST',
    path: '/secret-key/rotate',
    summary: 'Rotate the secret key',
    description:
      'Activates a new secret key, seals every secret again and removes the older keys. One request does a part of it: ' +
      'repeat it until `done` is true. A rotation that a crash interrupted is continued.',
    access: ADMINS,
    status: 200,
    answer: KeyRotation,
    problems: ['key_rotation_blocked', 'secret_key_missing'],
  },
  createBackup: {
    method: 'POST',
    path: '/backup',
    summary: 'Download a backup',
    description: 'Returns a consistent copy of the whole store, secrets included.',
    access: ADMINS,
    status: 200,
    answer: z.string(),
    file: 'application/vnd.sqlite3',
    problems: ['backup_unavailable'],
  },
} as const satisfies Record<string, RouteSpec>
