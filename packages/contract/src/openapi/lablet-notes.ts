import type { FieldNote } from './field-notes.ts'

const AT = '2026-01-02T03:04:05.678Z'
const END = '2026-01-02T04:04:05.678Z'
const SHA256 = '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901'
const TOPOLOGY = `lab:
  version: 0.3.0
nodes:
  - id: n0
    label: r1
    node_definition: iol-xe
    x: 0
    y: 0
    tags: [serial:5000]
    interfaces: []
links: []
`
const VERSIONS = { min: '2.9', max: null }
const PORT = { name: 'r1_serial', node: 'r1', protocol: 'serial', inside: 0 }

/** By `Schema.field`, for definitions, sessions and labs. */
export const LABLET_NOTES: Readonly<Record<string, FieldNote>> = {
  'LabletDefinition.id': { example: 'ld-5k1r2m3n8pq4t' },
  'LabletDefinition.name': { description: 'What sessions refer to it by.', example: 'bgp-basics' },
  'LabletDefinition.title': { description: 'What people read.', example: 'BGP basics' },
  'LabletDefinition.description': { description: 'For people who choose one.', example: 'Two routers, one session' },
  'LabletDefinition.source': { description: '`inline`, or where the topology is fetched from.', example: 'inline' },
  'LabletDefinition.needs': { description: 'What a session of it takes of a worker.' },
  'LabletDefinition.cml_version': { description: 'Which releases of CML can run it.', example: VERSIONS },
  'LabletDefinition.license_affinity': { description: 'Only workers with one of these licences; empty: any.' },
  'LabletDefinition.port_template': { description: 'The ways into its nodes.', example: [PORT] },
  'LabletDefinition.definition_version': { description: 'Its own version.', example: '1.0.0' },
  'LabletDefinition.status': {
    description: '`PENDING_SYNC`: waits for its topology; `ACTIVE`: can be booked; `DEPRECATED`: no more.',
    example: 'ACTIVE',
  },
  'LabletDefinition.replaces': { description: 'The version before it, by id.', example: null },
  'LabletDefinition.topology': { description: 'CML topology YAML; null until it was fetched.', example: TOPOLOGY },
  'LabletDefinition.topology_sha256': { description: 'Of the text.', example: SHA256 },
  'LabletDefinition.node_definitions_required': { description: 'What a CML must know to run it.', example: ['iol-xe'] },
  'LabletDefinition.sync': { description: 'How fetching the topology went.' },
  'DefinitionSummary.id': { example: 'ld-5k1r2m3n8pq4t' },
  'DefinitionSummary.name': { description: 'What sessions refer to it by.', example: 'bgp-basics' },
  'DefinitionSummary.source': { description: '`inline`, or where the topology is fetched from.', example: 'inline' },
  'DefinitionSummary.cml_version': { description: 'Which releases of CML can run it.', example: VERSIONS },
  'DefinitionSummary.definition_version': { description: 'Its own version.', example: '1.0.0' },
  'DefinitionSummary.port_template': { description: 'The ways into its nodes.', example: [PORT] },
  'DefinitionSummary.status': { example: 'ACTIVE' },
  'DefinitionWithGraph.id': { example: 'ld-5k1r2m3n8pq4t' },
  'DefinitionWithGraph.name': { description: 'What sessions refer to it by.', example: 'bgp-basics' },
  'DefinitionWithGraph.source': { description: '`inline`, or where the topology is fetched from.', example: 'inline' },
  'DefinitionWithGraph.cml_version': { description: 'Which releases of CML can run it.', example: VERSIONS },
  'DefinitionWithGraph.definition_version': { description: 'Its own version.', example: '1.0.0' },
  'DefinitionWithGraph.port_template': { description: 'The ways into its nodes.', example: [PORT] },
  'DefinitionWithGraph.status': { example: 'ACTIVE' },
  'DefinitionWithGraph.topology': { description: 'CML topology YAML; null until it was fetched.', example: TOPOLOGY },
  'DefinitionWithGraph.graph': { description: 'The topology, read: for those who draw it.' },
  'DefinitionWithGraph.given': {
    description:
      'Which of these its author said; what was not said follows from the topology. `cml_min` is the oldest release of CML.',
    example: { title: true, needs: false, port_template: false, cml_min: false },
  },
  'LabGraph.nodes': { example: [{ id: 'n0', label: 'r1', node_definition: 'iol-xe' }] },
  'LabGraph.links': { example: [] },
  'CreateDefinition.name': { description: 'What sessions refer to it by.', example: 'bgp-basics' },
  'CreateDefinition.topology': { description: 'CML topology YAML, where `source` is `inline`.', example: TOPOLOGY },
  'CreateDefinition.title': { description: 'What people read. Left out or empty, what its lab is called.' },
  'CreateDefinition.needs': { description: 'Left out, the sum of what its nodes ask for.' },
  'CreateDefinition.port_template': { description: 'Left out, what the tags of its nodes ask for.' },
  'PutDefinition.topology': { description: 'CML topology YAML, where `source` is `inline`.', example: TOPOLOGY },

  'LabletSession.id': { example: 'ls-5k1r2m3n8pq4t' },
  'LabletSession.owner': { description: 'Whose it is.', example: 'oidc:jane' },
  'LabletSession.owner_name': { description: 'What its owner was called when it was booked.', example: 'Jane' },
  'LabletSession.reservation_id': { description: 'Somebody else’s number for it; unique.', example: null },
  'LabletSession.definition': { description: 'What was booked; later versions do not touch it.' },
  'LabletSession.definition.id': { example: 'ld-5k1r2m3n8pq4t' },
  'LabletSession.definition.name': { example: 'bgp-basics' },
  'LabletSession.definition.version': { example: '1.0.0' },
  'LabletSession.needs': { description: 'What it takes of its worker, as the definition said when it was booked.' },
  'LabletSession.timeslot': { description: 'From when to when.', example: { start: AT, end: END } },
  'LabletSession.status': { description: 'What a controller last found.', example: 'RUNNING' },
  'LabletSession.lab_record_id': { description: 'Its lab; null while it has none.', example: 'lr-5k1r2m3n8pq4t' },
  'LabletSession.access': { description: 'The ways into its nodes, once they are up.' },
  'LabletSession.pipeline': { description: 'How starting or taking down its lab goes, step by step.' },
  'LabletSession.waiting_reason': { description: 'Why it is not placed yet, and for whom it waits.', example: null },
  'LabletSession.last_error': { description: 'What went wrong, if something did.', example: null },
  'CreateSession.definition': {
    description: 'The id of a definition, or a name, whose newest ACTIVE version is taken.',
    example: 'bgp-basics',
  },
  'CreateSession.start': { description: 'Now unless said.' },
  'CreateSession.duration_minutes': { description: 'Instead of `end`; the longest unless said.', example: 30 },
  'ExtendSession.minutes': { description: 'How much longer.', example: 15 },

  'LabRecord.id': { example: 'lr-5k1r2m3n8pq4t' },
  'LabRecord.lab_id': {
    description: 'CML’s own id; null until it was imported.',
    example: 'b3f5c0aa-6d1e-4c1f-9c5f-0f2f7f6f7e11',
  },
  'LabRecord.title': { description: 'What CML calls it.', example: 'BGP basics ls-5k1r2m3n8pq4t' },
  'LabRecord.source': { description: 'Whether we imported it, or found it.' },
  'LabRecord.status': { description: 'What became of it.', example: 'BOOTED' },
  'LabRecord.raw_state': { description: 'CML’s own word for its state.', example: 'STARTED' },
  'LabRecord.ports': {
    description: 'Outside ports of its worker that lead to its nodes.',
    example: { r1_serial: 2000 },
  },
  'LabRecord.session_id': { description: 'The session that it is for.', example: 'ls-5k1r2m3n8pq4t' },
  'LabRecord.pending_action': { description: 'What somebody asked for and is not done yet.', example: null },
  'LabRecord.runs': { description: 'When it ran, and for whom.' },
  'LabTopology.topology': { description: 'CML topology YAML.', example: TOPOLOGY },
  'PlacementPreview.candidates': { description: 'Workers that could take it, best first.' },
  'PlacementPreview.refusals': { description: 'Workers that could not, and why.' },
  'SyncResult.source': { description: 'Where it was fetched from.', example: 'https://example.org/bgp.yaml' },
  'SyncResult.requested_at': {
    description: '`sync.at` when the fetch began. A result that was overtaken by an edit is let pass.',
    example: AT,
  },
  'SyncResult.result': {
    description: 'What the fetch brought, or why it brought nothing.',
    example: { topology: TOPOLOGY, package_sha256: SHA256 },
  },
}

/** By `area.name`. */
export const LABLET_PARAMETERS: Readonly<Record<string, FieldNote>> = {
  'lablet-definitions.id': { description: 'The id of the definition.', example: 'ld-5k1r2m3n8pq4t' },
  'lablet-definitions.name': { description: 'Only versions of this one.', example: 'bgp-basics' },
  'lablet-definitions.status': { description: 'Only those with this status.', example: 'ACTIVE' },
  'lablet-definitions.q': { description: 'Only those whose name contains this.' },
  'lablet-sessions.id': { description: 'The id of the session.', example: 'ls-5k1r2m3n8pq4t' },
  'lablet-sessions.status': { description: 'Only those with this status.', example: 'RUNNING' },
  'lablet-sessions.worker_id': { description: 'Only those on this worker.', example: 'w-5k1r2m3n8pq4t' },
  'lablet-sessions.definition': { description: 'Only those of definitions of this name.', example: 'bgp-basics' },
  'lablet-sessions.owner': { description: 'Only those of this person, by id.', example: 'oidc:jane' },
  'lablet-sessions.include_finished': { description: 'Also those that are over.' },
  'lab-records.id': { description: 'The id of the lab record.', example: 'lr-5k1r2m3n8pq4t' },
  'lab-records.worker_id': { description: 'Only those on this worker.', example: 'w-5k1r2m3n8pq4t' },
  'lab-records.session_id': { description: 'Only those of this session.', example: 'ls-5k1r2m3n8pq4t' },
  'lab-records.status': { description: 'Only those with this status.', example: 'BOOTED' },
  'lab-records.include_deleted': { description: 'Also those that were deleted.' },
}
