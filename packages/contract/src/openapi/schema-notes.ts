import { SETTING_DEFAULTS } from '@lcm/domain/fleet/settings'
import { WORKER_STATUSES } from '@lcm/domain/worker/worker'
import type { FieldNote } from './field-notes.ts'
import { LABLET_NOTES } from './lablet-notes.ts'

const AT = '2026-01-02T03:04:05.678Z'
const SHA256 = '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901'

/**
 * By `Schema.field`: what a field means here and not elsewhere. In a request, an optional field is shown in the example when
 * its note has one.
 */
export const SCHEMA_NOTES: Readonly<Record<string, FieldNote>> = {
  ...LABLET_NOTES,
  'Worker.id': { example: 'w-5k1r2m3n8pq4t' },
  'Worker.name': { description: 'A name for people; need not be unique.', example: 'training-1' },
  'Worker.origin': { description: 'Who asked for it: a person, the scale-up policy, or nobody: it was found.' },
  'Worker.cost': { description: 'What it has cost so far, and costs now.' },
  'Cml.version': { description: 'Its version.', example: '2.9.1' },
  'Cml.ready': { description: 'What it last said of itself; null while nobody could ask.', example: true },
  'Cml.certificate_sha256': {
    description: 'Pinned at first contact; another one is not this server.',
    example: SHA256,
  },
  'Condition.type': { description: 'What the statement is about.', example: 'CmlReady' },
  'Condition.status': { description: 'Whether it holds.', example: true },
  'Condition.reason': { description: 'Why, in one word.', example: 'Passed' },
  'Condition.message': { description: 'What it waits for, when it does not hold.', example: '' },
  'StateChange.from': { description: 'The status before; null for the first.', example: 'STARTING' },
  'StateChange.to': { description: 'The status after.', example: 'RUNNING' },
  'License.status': { description: 'Where its registration stands.' },
  'LaunchAttempt.n': { description: 'Counts the tries; never restarts.', example: 1 },
  'LaunchAttempt.client_token': {
    description: 'Makes the launch happen once, however often it is asked for.',
    example: SHA256,
  },
  'LaunchAttempt.parameters': { description: 'What the cloud is asked for, fully rendered.' },
  'LaunchAttempt.requested_at': { description: 'When it was decided.', example: AT },
  'LaunchAttempt.state': {
    description:
      '`open`: may have a machine; `launched`: has one; `adopted`: has one by its tags alone; `refused`: the cloud said no; ' +
      '`spent`: it is gone.',
    example: 'launched',
  },
  'LaunchAttempt.error': { description: 'What the cloud said, when it refused.', example: null },
  'LaunchParameters.image_id': { example: 'ami-0a1b2c3d4e5f60718' },
  'LaunchParameters.subnet_id': { example: 'subnet-0a1b2c3d4e5f60718' },
  'LaunchParameters.security_group_ids': { example: ['sg-0a1b2c3d4e5f60718'] },
  'LaunchParameters.key_name': { example: null },
  'LaunchParameters.root_device': { example: '/dev/sda1' },
  'LaunchParameters.root_volume_gb': { example: 200 },
  'LaunchParameters.volume_encrypted': { example: true },
  'LaunchParameters.iam_instance_profile': { example: null },
  'LaunchParameters.nested_virtualization': { example: false },

  'CreateWorker.template_name': { description: 'The template to make it from; `lcm get templates` lists them.' },
  'CreateWorker.name': {
    description: 'A name for people; LCM makes one up when it is left out.',
    example: 'training-1',
  },
  'CreateWorker.aws_region': { description: 'Left out, the first region that LCM is set up for.' },
  'CreateWorker.license': { description: 'Registered as soon as the worker runs.' },
  'PatchWorker.name': { example: 'training-2' },
  'PatchWorker.protected': { example: true },
  'Intent.reason': { example: 'course next week' },
  'Intent.until': { description: 'Until then no policy changes what you ask for.' },
  'Intent.force': { description: 'Also when sessions live on it.' },
  'Reasoned.reason': { example: 'it looks stuck' },
  'DrainWorker.reason': { example: 'end of the course' },
  'DrainWorker.then': { description: 'What to do once it is empty.', example: 'STOPPED' },
  'DrainWorker.timeout_seconds': { description: 'How long to wait; left out, what its template says.' },
  'PutCredentials.username': { example: 'admin' },
  'PutCredentials.password': { example: 'correct horse battery staple' },
  'ReportStatus.changes': { description: 'What is different now; what is left out stays as it is.' },
  'WorkerChanges.status': { example: 'RUNNING' },
  'WorkerChanges.service_status': { example: 'AVAILABLE' },
  'ImportWorker.name': { example: 'found-1' },
  'ImportWorker.status': { example: 'STARTING' },

  'WorkerTemplate.id': { example: 'wt-5k1r2m3n8pq4t' },
  'WorkerTemplate.name': { description: 'What workers refer to it by.', example: 'metal' },
  'CreateTemplate.name': { description: 'What workers refer to it by.', example: 'metal' },
  'WorkerTemplate.enabled': { description: 'Whether new workers may be made from it.' },
  'CreateTemplate.enabled': { description: 'Whether new workers may be made from it.' },
  'PutTemplate.enabled': { description: 'Whether new workers may be made from it.' },

  'Token.id': { example: 'tk-5k1r2m3n8pq4t' },
  'Token.name': { description: 'Who or what uses it.', example: 'ci' },
  'Token.service': { description: 'The service whose controller uses it; null for people.', example: null },
  'NewToken.id': { example: 'tk-5k1r2m3n8pq4t' },
  'NewToken.name': { description: 'Who or what uses it.', example: 'ci' },
  'NewToken.service': { description: 'The service whose controller uses it; null for people.', example: null },
  'NewToken.secret': { description: 'Shown this once and kept only as a hash.', example: 'lcm_vT3q…' },
  'CreateToken.name': { description: 'Who or what uses it.', example: 'ci' },
  'CreateToken.service': { description: 'The service whose controller uses it; for role `controller` only.' },
  'CreateToken.expires_at': { description: 'When it stops working; left out, never.' },
  'LoginLink.url': { description: 'Open it in a browser.', example: '/login?code=Zk3v…' },
  'LoginLink.expires_in_seconds': { description: 'How long it works. It works once.', example: 600 },
  'Info.version': { description: 'The version of LCM.', example: '0.1.0' },
  'Info.profile': { description: 'One process, or several on etcd.' },
  'Info.cloud': { description: 'The simulated cloud, or AWS.' },
  'Info.regions': { description: 'The regions that LCM is set up for, the default first.', example: ['us-east-1'] },
  'Info.sim_control': {
    description: 'Where admins act on the simulated cloud behind LCM’s back; null where they can not.',
    example: '/sim/v1',
  },
  'Info.actor': { description: 'Who you are to this LCM.' },
  'Info.actor.id': { description: 'What stays the same when the name changes.', example: 'admin' },
  'Info.actor.name': { example: 'admin' },
  'Info.actor.role': { description: 'What you may do.', example: 'admin' },

  'FleetSummary.workers.total': { example: 3 },
  'FleetSummary.workers.by_status': {
    example: Object.fromEntries(WORKER_STATUSES.map(status => [status, status === 'RUNNING' ? 3 : 0])),
  },
  'FleetSummary.workers.idle': { description: 'How many run and are used by nobody.', example: 1 },
  'FleetSummary.workers.needs_attention': { description: 'How many only a person can help.', example: 0 },
  'FleetSummary.cost.since': { description: 'From when on money is summed.', example: AT },
  'FleetSummary.cost.saved_usd': { description: 'What stopping idle workers has saved.', example: 42.5 },
  'FleetSummary.cost.by_cause': { description: 'What the money went for.' },
  'FleetSummary.cost.by_day': { description: 'Days of UTC, oldest first. The first is counted from `since` on.' },
  'FleetSummary.cost.by_day.day': { description: 'The day.', example: '2026-01-02' },
  'FleetSummary.cost.by_day.saved_usd': { description: 'What stopping idle workers saved that day.', example: 6.1 },
  'FleetPlan.items': { description: 'What the controllers would do now.' },
  'ServiceList.items': { description: 'One entry per service.' },
  'ServiceList.items.leader': { description: 'Null while nobody leads.' },
  'ServiceList.items.last_seen_at': {
    description: 'When any replica was last heard of, also one that is silent now. Null when none ever was.',
  },
  'ServiceList.items.instances': { description: 'Every replica that was heard of lately.' },
  'ServiceTerm.id': { description: 'The name of the service.', example: 'worker-controller' },
  'ServiceTerm.generation': { description: 'Grows when epochs had to begin anew.', example: 0 },
  'Settings.settings': {
    description: 'Each setting with its value and where that comes from.',
    example: Object.fromEntries(
      Object.entries(SETTING_DEFAULTS).map(([name, value]) => [name, { value, source: 'default' }]),
    ),
  },
  'SettingsPatch.idle_timeout_seconds': {
    description: 'How long nobody may use a worker before it is idle.',
    example: 1800,
  },
  'LicenseLeak.id': { example: 'll-5k1r2m3n8pq4t' },
  'LicenseLeak.reason': { example: 'the machine was gone before its licence was given back' },
  'AuditEntry.actor': { description: 'Who did it.' },
  'AuditEntry.actor.id': { example: 'admin' },
  'AuditEntry.actor.name': { example: 'admin' },
  'AuditEntry.actor.role': { example: 'admin' },
  'AuditEntry.before': { description: 'What was wanted before.', example: { desired_status: 'RUNNING' } },
  'AuditEntry.after': { description: 'What is wanted since.', example: { desired_status: 'STOPPED' } },

  'EventEnvelope.type': { description: 'What happened.' },
  'EventEnvelope.id': { description: 'The resource that it happened to.', example: 'w-5k1r2m3n8pq4t' },
  'EventEnvelope.version': { description: 'Its version since then. Some may be skipped; it never goes back.' },
  'EventEnvelope.data': { description: 'The resource as it is since then; null when it is gone.' },

  'Problem.type': { description: 'Where the code is explained.' },
  'Problem.title': { description: 'What the code means, always the same sentence.' },
  'Problem.status': { description: 'The HTTP status.', example: 409 },
  'Problem.detail': { description: 'What was wrong this time, for a person.' },
  'Problem.code': { description: 'For programs: never reused for another meaning.' },
  'Problem.instance': { description: 'The path that was asked for.' },
  'Problem.errors': { description: 'Each field that was wrong.' },
}
