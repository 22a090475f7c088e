import { DecisionNote } from '@lcm/domain/decision'
import {
  DefinitionName,
  DefinitionSpec,
  DefinitionStatus,
  LabletDefinition,
  TOPOLOGY_CHARS_MAX,
} from '@lcm/domain/definition/lablet-definition'
import { Instant } from '@lcm/domain/instant'
import { LabRecord, LabStatus } from '@lcm/domain/lab/lab-record'
import { LabletSession, Pipeline, SessionStatus } from '@lcm/domain/session/lablet-session'
import { REFUSALS } from '@lcm/domain/session/placement'
import { z } from 'zod'
import { listOf, Page } from './lists.ts'

/** For topologies of the greatest length, however they are escaped, and for lists of all labs of a worker. */
export const LARGE_BODY_BYTES_MAX = 5 * 1024 * 1024

/* Definitions */

/** Lists leave the topology out: it may be long. */
export const DefinitionSummary = LabletDefinition.omit({ topology: true })
export const DefinitionList = listOf(DefinitionSummary)

/** What a lab looks like: its nodes, and which of them are joined. */
export const LabGraph = z.object({
  nodes: z.array(z.object({ id: z.string(), label: z.string(), node_definition: z.string() })),
  /** `a` and `b` are ids of nodes; `label` may be empty. */
  links: z.array(z.object({ a: z.string(), b: z.string(), label: z.string() })),
})
export type LabGraph = z.infer<typeof LabGraph>
/** With its topology as text and as a graph. */
export const DefinitionWithGraph = LabletDefinition.extend({
  /** Null until the topology was fetched. */
  graph: LabGraph.nullable(),
  /** Which of these its author said; what was not said follows from the topology. */
  given: z.object({ title: z.boolean(), needs: z.boolean(), port_template: z.boolean(), cml_min: z.boolean() }),
})
export const DefinitionQuery = Page.extend({
  name: DefinitionName.optional(),
  status: DefinitionStatus.optional(),
  q: z.string().max(128).optional(),
})

const topology = z.string().min(1).max(TOPOLOGY_CHARS_MAX)
export const CreateDefinition = DefinitionSpec.extend({
  /** CML topology YAML, where `source` is `inline`. */
  topology: topology.optional(),
})
const spec = DefinitionSpec.shape
/**
 * A definition anew; what is left out stays as it is. One that is ACTIVE stays as it is, and a new version takes its place once
 * it is good.
 */
export const PutDefinition = z.strictObject({
  title: spec.title.unwrap().optional(),
  description: spec.description.unwrap().optional(),
  source: spec.source.unwrap().optional(),
  needs: spec.needs.unwrap().optional(),
  cml_version: spec.cml_version.unwrap().optional(),
  license_affinity: spec.license_affinity.unwrap().optional(),
  port_template: spec.port_template.unwrap().optional(),
  max_duration_minutes: spec.max_duration_minutes.unwrap().optional(),
  boot_lead_minutes: spec.boot_lead_minutes.unwrap().optional(),
  lab_reuse: spec.lab_reuse.unwrap().optional(),
  topology: topology.optional(),
})

/** What a fetch brought, or why it did not. Where somebody has asked for another one since, it is let pass. */
export const SyncResult = z.strictObject({
  /** Where it was fetched from, and since when that was asked for: as the definition said when the fetch began. */
  source: spec.source.unwrap(),
  requested_at: Instant.nullable(),
  result: z.union([
    z.strictObject({ topology, package_sha256: z.string().length(64) }),
    z.strictObject({ error: z.string().min(1).max(1000) }),
  ]),
})

const use = z.object({ cpu: z.number(), memory: z.number() })
export const PlacementPreview = z.object({
  candidates: z.array(
    z.object({ worker_id: z.string(), worker_name: z.string(), score: z.number(), before: use, after: use }),
  ),
  refusals: z.array(
    z.object({ worker_id: z.string(), worker_name: z.string(), category: z.enum(REFUSALS), because: z.string() }),
  ),
  /** What would happen to a session that begins now. */
  outcome: z.enum(['place', 'wait', 'resume', 'scale_up', 'unschedulable']),
  because: z.string(),
})

/* Sessions */

export const SessionList = listOf(LabletSession)
export const SessionQuery = Page.extend({
  status: SessionStatus.optional(),
  worker_id: z.string().max(64).optional(),
  definition: DefinitionName.optional(),
  /** As long as an identity provider may call somebody, with `oidc:` before it. */
  owner: z.string().max(520).optional(),
  /** Also those that are over. */
  include_finished: z.union([z.boolean(), z.stringbool()]).default(false),
})

export const CreateSession = z.strictObject({
  /** The id of a definition, or the name of one, whose newest ACTIVE version is taken. */
  definition: z.string().min(1).max(64),
  /** Now unless said. */
  start: Instant.optional(),
  duration_minutes: z
    .int()
    .min(1)
    .max(7 * 24 * 60)
    .optional(),
  end: Instant.optional(),
  /** Your own number for it; unique. */
  reservation_id: z.string().min(1).max(128).optional(),
})
export const ExtendSession = z.strictObject({
  minutes: z
    .int()
    .min(1)
    .max(24 * 60),
})

/** What the lablet-controller may say of a session. */
export const SessionChangesBody = z.strictObject({
  status: SessionStatus.exactOptional(),
  pipeline: Pipeline.nullable().exactOptional(),
  worker_id: z.null().exactOptional(),
  access: LabletSession.shape.access.exactOptional(),
  conditions: LabletSession.shape.conditions.exactOptional(),
  last_error: z.string().max(1000).nullable().exactOptional(),
  waiting_reason: z.string().max(1000).nullable().exactOptional(),
})
export const ReportSession = z.strictObject({ changes: SessionChangesBody, decision: DecisionNote })

/** Room on a worker, taken by compare-and-set on its ledger. */
export const AssignSession = z.strictObject({ worker_id: z.string().min(1).max(64), decision: DecisionNote })
export const ResumeWorker = z.strictObject({
  session_ids: z.array(z.string().max(64)).min(1).max(1000),
  reason: z.string().max(500),
})

/* Labs */

export const LabList = listOf(LabRecord)
export const LabQuery = Page.extend({
  worker_id: z.string().max(64).optional(),
  session_id: z.string().max(64).optional(),
  status: LabStatus.optional(),
  include_deleted: z.union([z.boolean(), z.stringbool()]).default(false),
})
export const LabTopology = z.object({ topology: z.string() })

/** A lab that was imported, or is claimed for reuse; the same session gets the same record again. */
export const BindLab = z.strictObject({
  /** CML's id; null before the import, so that it is on record before it exists. */
  lab_id: z.string().max(64).nullable(),
  title: z.string().max(64),
  /** Take this record, if nobody else has. */
  record_id: z.string().max(64).nullable().default(null),
})
export const AllocatePorts = z.strictObject({
  /** Outside ports that labs of others on that worker use. */
  taken: z.array(z.int().min(1).max(65_535)).max(10_000),
})
export const AllocatedPorts = z.object({ ports: z.record(z.string(), z.int()) })

const { shape } = LabRecord
export const ReportLab = z.strictObject({
  changes: z.strictObject({
    status: LabStatus.exactOptional(),
    lab_id: shape.lab_id.exactOptional(),
    raw_state: shape.raw_state.exactOptional(),
    nodes: shape.nodes.exactOptional(),
    pending_action: shape.pending_action.exactOptional(),
    last_error: shape.last_error.exactOptional(),
  }),
  decision: DecisionNote,
})

/** What one look at all labs of a worker showed. Only a complete one says anything of labs that are not in it. */
export const DiscoverLabs = z.strictObject({
  worker_id: z.string().min(1).max(64),
  began_at: Instant,
  is_complete: z.boolean(),
  labs: z
    .array(
      z.strictObject({
        lab_id: z.string().max(64),
        title: z.string().max(256),
        owner: z.string().max(128).nullable(),
        state: z.string().max(64),
        node_count: z.int().nonnegative(),
        link_count: z.int().nonnegative(),
        /** Left out where they are as they were, or nobody could say. */
        nodes: LabRecord.shape.nodes.optional(),
      }),
    )
    .max(5000),
})
export const DiscoverAnswer = z.object({ created: z.int(), updated: z.int(), orphaned: z.int() })
