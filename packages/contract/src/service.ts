import { ServiceTerm } from '@lcm/domain/fencing'
import { Instant } from '@lcm/domain/instant'
import { DecisionNote } from '@lcm/domain/journal-records'
import { InstanceReport, ServiceInstance } from '@lcm/domain/service-instance'
import { z } from 'zod'
import { ActionReason } from './common-schemas.ts'
import { ADMINS, ANY_CONTROLLER, EVERYONE, OPERATORS, type RouteSpec } from './route-spec.ts'

const serviceField = z.string().meta({ description: 'The name of the service.', example: 'worker-controller' })
const epochText = { description: 'The leadership term.', example: 7 }
const instanceIdText = { description: 'The replica.', example: 'worker-controller-1' }

export const ServiceList = z
  .object({
    items: z
      .array(
        z.object({
          service: serviceField,
          leader: z
            .object({
              instance_id: z.string().meta(instanceIdText),
              epoch: z.int().meta(epochText),
              since: Instant.nullable().meta({ description: 'Since when it leads.' }),
            })
            .nullable()
            .meta({ description: 'The leader; null if there is none.' }),
          term: ServiceTerm.nullable().meta({ description: 'The registered term; null before the first.' }),
          last_seen_at: Instant.nullable().meta({
            description: 'When any replica last reported, running or not; null if none ever did.',
          }),
          instances: z.array(ServiceInstance.omit({ plan: true, version: true, unbroken_since: true })).meta({
            description: 'The replicas that reported recently.',
          }),
        }),
      )
      .meta({ description: 'One entry per service.' }),
  })
  .meta({ id: 'ServiceList', description: 'All services.' })

export const Heartbeat = InstanceReport
export const HeartbeatAnswer = z
  .object({
    triggers: z.int().meta({
      description: 'How many times a full reconciliation was requested. A higher number is a new request.',
      example: 0,
    }),
    resignations: z.int().meta({
      description: 'How many times the leader was requested to resign. A higher number is a new request.',
      example: 0,
    }),
  })
  .meta({ id: 'HeartbeatAnswer', description: 'Requests to the leader.' })

export const LeaderRequest = z
  .object({ service: serviceField, requested: z.literal(true).meta({ description: 'The request is stored.' }) })
  .meta({ id: 'LeaderRequest', description: 'A stored request to a leader.' })

export const RegisterTerm = z
  .strictObject({
    epoch: z.int().positive().meta(epochText),
    instance_id: z.string().min(1).max(200).meta(instanceIdText),
  })
  .meta({ id: 'RegisterTerm', description: 'The term of a new leader.' })

const SERVICE = { service: { description: 'The name of the service.', example: 'worker-controller' } } as const

const requestToLeader = (verb: 'trigger' | 'resign', summary: string, description: string) =>
  ({
    method: 'POST',
    path: `/services/{service}/${verb}`,
    params: SERVICE,
    summary,
    description,
    access: OPERATORS,
    body: ActionReason,
    status: 202,
    answer: LeaderRequest,
    idempotent: true,
    problems: ['not_found'],
  }) as const satisfies RouteSpec

export const SERVICE_ROUTES = {
  listServices: {
    method: 'GET',
    path: '/services',
    summary: 'List services',
    description:
      'Returns every service with its replicas and its leader. Users and authors get problems that name no infrastructure.',
    access: EVERYONE,
    status: 200,
    answer: ServiceList,
    problems: [],
  },
  triggerService: requestToLeader(
    'trigger',
    'Trigger a full reconciliation',
    'Requests that the leader of a service reconciles all its resources now.',
  ),
  resignService: requestToLeader(
    'resign',
    'Request a new leader',
    'Requests that the leader of a service resigns. Another replica takes over.',
  ),
  resetTerm: {
    method: 'DELETE',
    path: '/services/{service}/term',
    params: SERVICE,
    summary: 'Reset the terms of a service',
    description: 'Forgets the registered term. Use it after etcd was rebuilt or the store was restored.',
    access: ADMINS,
    status: 204,
    answer: null,
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteSpec>

/** Routes that only controllers may call. */
const ResourceName = z
  .string()
  .max(200)
  .regex(/^(worker|session|lab_record|definition|fleet):/, 'a resource such as worker:w-1')

/** Decisions without a write of a document, such as a call of EC2 or a new reason to wait. */
export const RecordDecisions = z
  .strictObject({
    epoch: z.int().positive().meta({ description: 'The leadership term in which it was decided.', example: 7 }),
    decisions: z
      .array(
        DecisionNote.extend({
          id: z.string().min(1).max(200).meta({ description: 'The id; repeats are ignored.', example: 'dec-1' }),
          at: Instant.meta({ description: 'When the decision was made.' }),
          resource: ResourceName.meta({
            description: 'The resource that it is about, with its kind.',
            example: 'worker:w-5k1r2m3n8pq4t',
          }),
        }),
      )
      .max(1000)
      .meta({ description: 'The decisions.' }),
  })
  .meta({ id: 'RecordDecisions', description: 'Decisions to record.' })

export const SERVICE_CONTROLLER_ROUTES = {
  reportInstance: {
    method: 'PUT',
    path: '/services/{service}/instances/{instance_id}',
    params: { ...SERVICE, instance_id: { description: 'The replica.', example: 'worker-controller-1' } },
    summary: 'Send a heartbeat',
    description: 'Reports that a replica is alive, with its queue, its plan and its problems.',
    access: ANY_CONTROLLER,
    body: Heartbeat,
    status: 200,
    answer: HeartbeatAnswer,
    problems: [],
  },
  registerTerm: {
    method: 'PUT',
    path: '/services/{service}/term',
    params: SERVICE,
    summary: 'Register the term of a new leader',
    description: 'Registers a term. Writes from older terms are refused from then on.',
    access: ANY_CONTROLLER,
    body: RegisterTerm,
    status: 200,
    answer: ServiceTerm,
    problems: ['stale_leader'],
  },
  recordDecisions: {
    method: 'POST',
    path: '/decisions',
    summary: 'Record decisions',
    description: 'Records decisions that no write of a document carries.',
    access: ANY_CONTROLLER,
    body: RecordDecisions,
    status: 204,
    answer: null,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
