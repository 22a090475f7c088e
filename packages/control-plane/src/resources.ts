import { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { Fence, ServiceTerm } from '@lcm/domain/fencing'
import { FleetScaling } from '@lcm/domain/fleet/fleet-scaling'
import { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { ServiceInstance } from '@lcm/domain/fleet/service-instance'
import { Settings } from '@lcm/domain/fleet/settings'
import { Instant } from '@lcm/domain/instant'
import { LabRecord } from '@lcm/domain/lab/lab-record'
import { isFinal, LabletSession } from '@lcm/domain/session/lablet-session'
import { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { Token } from '@lcm/domain/token'
import { Worker } from '@lcm/domain/worker/worker'
import type { Kind } from '@lcm/store/store'
import { z } from 'zod'
import { readStored } from './stored.ts'

/** What is kept of a token: enough to recognise its secret, not to tell it. */
export const StoredToken = Token.extend({ hash: z.string() })
export type StoredToken = z.infer<typeof StoredToken>

/** Sealed text that belongs to one resource and is never part of it, so that no answer can show it by mistake. */
export const Secret = z.object({
  /** `<resource>:<what it is>:<reference>` */
  id: z.string(),
  /** `<kind>:<id>` of what it belongs to. */
  resource: z.string(),
  version: z.int().positive(),
  sealed: z.string(),
})
export type Secret = z.infer<typeof Secret>

/** What is kept of a definition beyond what is shown of it. */
export const StoredDefinition = LabletDefinition.extend({
  /** What its author said; the rest follows from the topology, and anew from every newer one. */
  given: z
    .object({
      needs: z.boolean(),
      port_template: z.boolean(),
      // Nobody wrote these down at first: what such a definition has is kept.
      title: z.boolean().default(true),
      cml_min: z.boolean().default(true),
    })
    .default({ needs: false, port_template: false, title: true, cml_min: true }),
  fence: Fence.default({}),
})
export type StoredDefinition = z.infer<typeof StoredDefinition>

/** A request that must not be carried out twice. */
export const IdempotentRequest = z.object({
  /** Hash of who asked, for what, and the key. */
  id: z.string(),
  version: z.int().positive(),
  body_sha256: z.string(),
  /** Chosen at first sight, so that a second execution creates the same thing. */
  resource_id: z.string(),
  started_at: Instant,
  /** Null until it is answered; sealed, since an answer may hold a secret. */
  answer: z
    .object({ status: z.int(), headers: z.record(z.string(), z.string()), sealed_body: z.string().nullable() })
    .nullable(),
})
export type IdempotentRequest = z.infer<typeof IdempotentRequest>

export const WORKERS: Kind<Worker> = {
  name: 'worker',
  parse: readStored(Worker),
  // A machine that was given up and is there again is recorded anew.
  unique: { ec2_instance_id: worker => (worker.status === 'TERMINATED' ? null : worker.ec2_instance_id) },
  facets: worker => ({
    status: worker.status,
    desired_status: worker.desired_status,
    aws_region: worker.aws_region,
    template_name: worker.template_name,
    name: worker.name,
    ...(worker.ec2_instance_id === null ? {} : { ec2_instance_id: worker.ec2_instance_id }),
    ...Object.fromEntries(Object.entries(worker.labels).map(([name, value]) => [`label:${name}`, value])),
    // Who has room on it, and for whom it is awaited.
    ...Object.fromEntries(Object.keys(worker.reservations).map(id => [`session:${id}`, 'reserved'])),
    ...(Object.keys(worker.reservations).length === 0 ? {} : { is_reserved: 'yes' }),
    ...(worker.wanted_by.length === 0 ? {} : { is_wanted: 'yes' }),
  }),
  announced: true,
}

export const TEMPLATES: Kind<WorkerTemplate> = {
  name: 'template',
  parse: readStored(WorkerTemplate),
  unique: { name: template => template.name },
  facets: template => ({ name: template.name }),
  announced: true,
}

export const DEFINITIONS: Kind<StoredDefinition> = {
  name: 'definition',
  parse: readStored(StoredDefinition),
  unique: { version: ({ name, definition_version }) => `${name}@${definition_version}` },
  facets: ({ name, status }) => ({ name, status }),
  announced: true,
}

export const SESSIONS: Kind<LabletSession> = {
  name: 'session',
  parse: readStored(LabletSession),
  unique: { reservation_id: session => session.reservation_id },
  facets: session => ({
    status: session.status,
    owner: session.owner,
    definition: session.definition.name,
    definition_id: session.definition.id,
    is_over: isFinal(session.status) ? 'yes' : 'no',
    ...(session.worker_id === null ? {} : { worker_id: session.worker_id }),
  }),
  announced: true,
}

/** Whether a lab is not there any more, as far as anybody knows. */
export const isLabGone = ({ status }: LabRecord): boolean => status === 'DELETED' || status === 'ORPHANED'
/** Whether it is, or is to become, the lab of its session. */
export const isLabUsable = (lab: LabRecord): boolean => !isLabGone(lab) && lab.pending_action?.action !== 'delete'
/** What nobody could take down does not keep its session from having another. */
const isLabCurrent = (lab: LabRecord): boolean => isLabUsable(lab) && lab.status !== 'ERROR'

export const LABS: Kind<LabRecord> = {
  name: 'lab_record',
  parse: readStored(LabRecord),
  unique: {
    lab_id: ({ worker_id, lab_id }) => (lab_id === null ? null : `${worker_id}/${lab_id}`),
    /** However often something crashes, a session has one lab. */
    session_id: lab => (isLabCurrent(lab) ? lab.session_id : null),
  },
  facets: lab => ({
    status: lab.status,
    worker_id: lab.worker_id,
    is_gone: isLabGone(lab) ? 'yes' : 'no',
    ...(lab.session_id === null ? {} : { session_id: lab.session_id }),
  }),
  announced: true,
}

export const SETTINGS: Kind<Settings> = { name: 'settings', parse: readStored(Settings), announced: true }

/** One document per service: its newest term, and what people asked of its leader. */
export const SERVICES: Kind<ServiceTerm> = { name: 'service', parse: readStored(ServiceTerm), announced: true }

export const INSTANCES: Kind<ServiceInstance> = {
  name: 'instance',
  parse: readStored(ServiceInstance),
  facets: instance => ({ service: instance.service }),
  announced: false,
}

export const FLEET_SCALING: Kind<FleetScaling> = {
  name: 'fleet_scaling',
  parse: readStored(FleetScaling),
  announced: false,
}

export const LEAKS: Kind<LicenseLeak> = {
  name: 'license_leak',
  parse: readStored(LicenseLeak),
  // One that was resolved does not hide the next.
  unique: { worker_id: leak => (leak.resolved_at === null ? leak.worker_id : null) },
  facets: leak => ({ worker_id: leak.worker_id }),
  announced: false,
}

export const TOKENS: Kind<StoredToken> = {
  name: 'token',
  parse: readStored(StoredToken),
  unique: { hash: token => token.hash },
  facets: token => ({ hash: token.hash }),
  announced: false,
}

export const SECRETS: Kind<Secret> = {
  name: 'secret',
  parse: readStored(Secret),
  facets: secret => ({ resource: secret.resource }),
  announced: false,
}

export const IDEMPOTENT_REQUESTS: Kind<IdempotentRequest> = {
  name: 'idempotent_request',
  parse: readStored(IdempotentRequest),
  announced: false,
}
