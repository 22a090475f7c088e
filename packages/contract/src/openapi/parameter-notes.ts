import type { FieldNote } from './field-notes.ts'
import { LABLET_PARAMETERS } from './lablet-notes.ts'

/** By the name of a parameter of paths and queries, or by `area.name` where it means something of its own. */
export const PARAMETER_NOTES: Readonly<Record<string, FieldNote>> = {
  ...LABLET_PARAMETERS,
  limit: { description: 'How many to answer at most.' },
  cursor: { description: 'Where to read on: the `next_cursor` of the page before. Page until it is null.' },
  from: { description: 'Only what happened at this instant or later.', example: '2026-01-02T00:00:00.000Z' },
  to: { description: 'Only what happened before this instant.', example: '2026-01-03T00:00:00.000Z' },
  name: { description: 'Its name.' },
  id: { description: 'Its id.' },

  'workers.id': { description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' },
  'workers.status': { description: 'Only those with this status.', example: 'RUNNING' },
  'workers.desired_status': { description: 'Only those that are wanted so.', example: 'RUNNING' },
  'workers.region': { description: 'Only those in this AWS region.', example: 'us-east-1' },
  'workers.template': { description: 'Only those made from this template.', example: 'metal' },
  'workers.label': { description: 'Only those with this label, as `name=value`.', example: 'environment=prod' },
  'workers.q': { description: 'Only those whose name contains this.' },
  'workers.include_terminated': { description: 'Also those that are gone.' },
  'worker-templates.name': { description: 'The name of the template.', example: 'metal' },
  'worker-templates.ref': { description: 'Which user data, as a launch attempt names it; the newest unless said.' },
  'fleet.since': {
    description: 'Sum money from then on; the last seven days unless said.',
    example: '2026-01-02T00:00:00.000Z',
  },
  'services.service': { description: 'The name of the service.', example: 'worker-controller' },
  'services.instance_id': { description: 'Which replica.', example: 'worker-controller-1' },
  'license-leaks.id': { description: 'The id of the leak.', example: 'll-5k1r2m3n8pq4t' },
  'tokens.id': { description: 'The id of the token, not its secret.', example: 'tk-5k1r2m3n8pq4t' },
  'audit.resource': { description: 'Only what was done to this.', example: 'worker:w-5k1r2m3n8pq4t' },
  'audit.scaling': { description: 'Also what policies have done to the size of the fleet, or refused to, and why.' },
  'events.after': {
    description: 'Resume after this position. The header `Last-Event-ID` wins. Without either the stream begins now.',
    example: '1042',
  },
  'events.types': {
    description:
      'Only these, with commas: types such as `worker.updated`, or kinds such as `worker`. Signals always come.',
    example: 'worker,template',
  },
  'events.id': { description: 'Only events about this resource.', example: 'w-5k1r2m3n8pq4t' },
}

export const parameterNoteOf = (area: string, name: string): FieldNote => ({
  ...PARAMETER_NOTES[name],
  ...PARAMETER_NOTES[`${area}.${name}`],
})
