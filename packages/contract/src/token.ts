import { ROLES, SERVICES } from '@lcm/domain/actor'
import { AuditEntry } from '@lcm/domain/decision'
import { Instant } from '@lcm/domain/instant'
import { Token } from '@lcm/domain/token'
import { WorkerName } from '@lcm/domain/worker/worker'
import { z } from 'zod'
import { listOf, TimePage } from './lists.ts'

/** Where a simulated cloud can be acted on behind LCM's back. */
export const SIM_CONTROL_PATH = '/sim/v1'

export const Info = z.object({
  version: z.string(),
  profile: z.enum(['embedded', 'cluster']),
  cloud: z.enum(['sim', 'aws']),
  regions: z.array(z.string()),
  /** Null where the cloud is real, or another process simulates it. */
  sim_control: z.literal(SIM_CONTROL_PATH).nullable(),
  actor: z.object({ id: z.string(), name: z.string(), role: z.enum(ROLES) }),
})

export const CreateToken = z
  .strictObject({
    name: WorkerName.max(64),
    role: z.enum(ROLES),
    service: z.enum(SERVICES).optional(),
    expires_at: Instant.optional(),
  })
  .refine(({ role, service }) => (role === 'controller') === (service !== undefined), {
    message: 'a token for a controller names its service, and no other does',
    path: ['service'],
  })
  .meta({
    if: { properties: { role: { const: 'controller' } } },
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    then: { required: ['service'] },
    else: { properties: { service: false } },
  })
export const TokenList = listOf(Token)
/** Only the answer to the request that made the token has its secret. */
export const NewToken = Token.extend({ secret: z.string() })

export const LoginLink = z.object({ url: z.string(), expires_in_seconds: z.int() })

export const AuditQuery = TimePage.extend({
  /** Such as `worker:w-1`. */
  resource: z.string().max(200).optional(),
  /** Also what policies have done to the size of the fleet, or refused to. */
  scaling: z.union([z.boolean(), z.stringbool()]).default(false),
})
export const AuditList = listOf(AuditEntry)
