import { ROLES, SERVICES } from '@lcm/domain/actor'
import { Instant } from '@lcm/domain/instant'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { Token } from '@lcm/domain/token'
import { DesiredStatus, Tags, Worker, WorkerChanges, WorkerName, WorkerStatus } from '@lcm/domain/worker/worker'
import { z } from 'zod'

export const LIST_LIMIT_DEFAULT = 100
export const LIST_LIMIT_MAX = 1000

export const Page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIST_LIMIT_MAX).default(LIST_LIMIT_DEFAULT),
  cursor: z.string().min(1).max(200).optional(),
})

/** `revision` is the position of the event stream at which the list was true: resume from it and nothing is missed. */
const listOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable(), revision: z.string() })

export const WorkerList = listOf(Worker)
export const TemplateList = listOf(WorkerTemplate)

export const WorkerQuery = Page.extend({
  status: WorkerStatus.optional(),
  desired_status: DesiredStatus.optional(),
  region: z.string().max(64).optional(),
  template: z.string().max(64).optional(),
  q: z.string().max(128).optional(),
  include_terminated: z.union([z.boolean(), z.stringbool()]).default(false),
})

export const CreateWorker = z.strictObject({
  template_name: z.string().min(1).max(64),
  name: WorkerName.optional(),
  aws_region: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'a region such as us-east-1')
    .optional(),
  tags: Tags.optional(),
  protected: z.boolean().optional(),
})

export const PatchWorker = z.strictObject({
  name: WorkerName.exactOptional(),
  protected: z.boolean().exactOptional(),
})

export const Intent = z.strictObject({ reason: z.string().max(500).optional() })

/** What moved a controller to write, in its own words. It rides with the write, so that every change explains itself. */
export const DecisionNote = z.strictObject({
  action: z.string().max(64),
  because: z.string().max(1000),
})
export type DecisionNote = z.infer<typeof DecisionNote>

export const ReportStatus = z.strictObject({ changes: WorkerChanges, decision: DecisionNote })

export const Info = z.object({
  version: z.string(),
  profile: z.enum(['embedded', 'cluster']),
  cloud: z.enum(['sim', 'aws']),
  regions: z.array(z.string()),
  actor: z.object({ name: z.string(), role: z.enum(ROLES) }),
})

export const RegisterTerm = z.strictObject({ epoch: z.int().positive(), instance_id: z.string().min(1).max(200) })

export const CreateToken = z
  .strictObject({
    name: z.string().min(1).max(64),
    role: z.enum(ROLES),
    service: z.enum(SERVICES).optional(),
    expires_at: Instant.optional(),
  })
  .refine(({ role, service }) => (role === 'controller') === (service !== undefined), {
    message: 'a token for a controller names its service, and no other does',
    path: ['service'],
  })
export const TokenList = listOf(Token)
/** Only the answer to the request that made the token has its secret. */
export const NewToken = Token.extend({ secret: z.string() })

export const LoginLink = z.object({ url: z.string(), expires_in_seconds: z.int() })
