import { SCHEMA_NOTES } from './schema-notes.ts'

/** What a reader of the API needs to know of a field, and a value that looks like life. */
export interface FieldNote {
  readonly description?: string
  readonly example?: unknown
}

const note = (description: string, example?: unknown): FieldNote =>
  example === undefined ? { description } : { description, example }
/** Where the name says it all. */
const shown = (example: unknown): FieldNote => ({ example })

const AT = '2026-01-02T03:04:05.678Z'
const LATER = '2026-01-02T03:09:41.002Z'

/** By name: what a field of that name means wherever it stands. */
export const FIELD_NOTES: Readonly<Record<string, FieldNote>> = {
  id: note('Short and sortable, given by LCM. Never changes.'),
  version: note('Grows by one with every write. Travels as `ETag` and `If-Match`.', 4),
  created_at: note('When it was made.', AT),
  updated_at: note('When it was last written.', LATER),
  name: note('What people call it.'),
  at: note('When it happened.', LATER),
  since: note('Since when.', LATER),
  by: note('Who did it.', 'admin'),
  reason: note('Why, for whoever reads it later.', 'course next week'),
  because: note('Why, in a sentence.', 'CML answers and is ready'),
  items: note('One page of them.'),
  next_cursor: note('Give it as `cursor` to read on; null on the last page.', null),
  revision: note(
    'The position of the event stream at which this was true. Follow from it and nothing is missed.',
    '1042',
  ),
  expires_at: note('When it stops working; null for never.', null),
  role: note('What its bearer may do.', 'operator'),
  resource: note('What it is about, with its kind.', 'worker:w-5k1r2m3n8pq4t'),
  worker_id: note('The worker it is about.', 'w-5k1r2m3n8pq4t'),
  worker_name: note('What the worker was called.', 'training-1'),
  dry_run: note('Whether to say only what would be done.'),
  enabled: note('Whether it is in use.'),

  template_name: note('The template it is made from.', 'metal'),
  aws_region: note('The AWS region it runs in.', 'us-east-1'),
  tags: note('Tags of the machine. Names that begin with `aws:` or `lcm:` are reserved.', { team: 'blue' }),
  labels: note('How people group workers; lists can be filtered by them.', { environment: 'prod' }),
  protected: note('Whether it refuses to be terminated.', false),
  cordoned: note('Whether nothing new is placed on it.', false),
  idle_detection_enabled: note('Whether it may be stopped when nobody uses it.'),
  desired_status: note('What people want. Only people and named policies change it.', 'RUNNING'),
  desired_by: note('Who wants it so.', 'admin'),
  desired_reason: note('Why it is wanted so.', 'course next week'),
  desired_at: note('When `desired_status` last changed; null for records from before this was kept.'),
  desired_until: note('Until then no policy changes what a person asked for.'),
  status: note('What a controller last found. Only controllers change it.', 'RUNNING'),
  entered_status_at: note('Since when it has this status.', LATER),
  service_status: note('Whether CML answers on the machine.', 'AVAILABLE'),
  conditions: note('Statements that hold or do not, at most one of each type.'),
  launch: note('The newest try at launching a machine for it.'),
  ec2_instance_id: note('The machine behind it.', 'i-0a1b2c3d4e5f60718'),
  instance_type: note('The EC2 instance type.', 'm5zn.metal'),
  ami_id: note('The image it was launched from.', 'ami-0a1b2c3d4e5f60718'),
  availability_zone: note('Where in the region it runs.', 'us-east-1a'),
  public_ip: note('Its public address.', '203.0.113.17'),
  private_ip: note('Its address inside the VPC.', '10.0.1.17'),
  https_endpoint: note('Where CML is reached.', 'https://203.0.113.17'),
  cml: note('What CML said of itself.'),
  cml_version: note('The version of CML.', '2.9.1'),
  cost_per_hour_usd: note('What the machine costs while it runs.', 3.9641),
  billing: note('What it has cost so far.'),
  state_history: note('Its latest moves, oldest first.'),
  refresh_requested_at: note('When somebody asked for a fresh look; null when that is done.'),
  labs_refresh_requested_at: note('The same of its labs; null when they were listed since.'),
  drain: note('How it is being emptied; null when it is not.'),
  license: note('The CML licence on it.'),
  capacity: note('What it can carry.'),
  reservations: note('What its sessions were given, by session id.'),
  ports: note('Port numbers by lab record and name.'),
  activity: note('When somebody last used it.'),
  pause: note('Why and how often it was stopped without anybody asking.'),
  wanted_by: note('The sessions that wait for it to run.'),
  applied_keys: note('Hashes of the latest requests that changed it.'),
  fence: note('The newest term of each service that wrote it.', { 'worker-controller': 7 }),
  labs_count: note('How many labs are on it; null when nobody knows.', 2),
  nodes_count: note('How many lab nodes run on it; null when nobody knows.', 14),
  utilisation: note('How busy it was when last measured, in percent.'),
  system_info: note('What the server is made of; null when CML did not say.'),
  cpu_count: note('How many processors it has.', 48),
  memory_total_bytes: note('How much memory it has.', 206_158_430_208),
  disk_total_bytes: note('How much room its disk has.', 68_719_476_736),
  running_orphans: note('Nodes that run without belonging to a lab.', 0),
  system_health: note('What CML says of its own health.', null),
  decision: note('What moved the controller to write.'),

  description: note('For people who choose one.', 'Bare metal with 48 vCPU and 192 GiB'),
  instance_types: note('In order of preference: the first that the cloud can give is taken.', [
    'm5zn.metal',
    'm5.metal',
  ]),
  ami_name_pattern: note('The newest image of such a name is taken.', 'cml-2.9.1-*'),
  ami_owner: note("Whose image. Without an owner anybody's public image of that name would win.", 'self'),
  root_volume_gb: note('The size of its disk.'),
  volume_encrypted: note('Whether its disk is encrypted.'),
  iam_instance_profile: note('What the machine itself may do on AWS.'),
  nested_virtualization: note('For instance types that are not bare metal.'),
  subnets: note("Subnets by region; they win over the region's own."),
  associate_public_ip: note('Whether machines get a public address; null leaves it to the subnet.'),
  license_product: note('The licence that workers ask for unless they say otherwise.'),
  drain_timeout_seconds: note('How long a drain waits for sessions before it goes on without them.'),
  replace_lost: note('Whether a worker whose machine is lost gets a new one.'),
  user_data: note('What machines are given at their first boot. Write-only: it may hold secrets.'),
  has_user_data: note('Whether there is user data; the text itself is shown to controllers only.'),
  seeded_from_sha256: note('The file it was last made from, by its content; null when people made it.'),
  cpu_cores: shown(48),
  memory_gb: shown(192),
  storage_gb: shown(200),
  max_nodes: note('How many lab nodes it can carry.', 200),

  product: note('The licence, as CML names it.', 'CML_Enterprise'),
  udi: note('How Smart Licensing knows the server.', 'PID:CML,SN:0a1b2c3d'),
  hostname: note('What the server called itself.', 'training-1'),
  resolved_at: note('When somebody dealt with it; null while nobody has.', null),
  resolved_by: note('Who dealt with it.', null),
  token: note('The token of the licence. Write-only.', 'NWIxZTg…'),

  action: note('What is done.', 'start'),
  cause: note('What led to the look: a change, a timer, a person.', 'timer'),
  seen: note('Facts that it rests on, by name.', { ec2: 'running' }),
  guards: note('The numbers that it rests on.'),
  outcome: note('What came of it.', 'done'),
  duration_ms: note('How long it took.', 240),
  due_at: note('When it would be done; null for now.'),

  service: note('The name of the service.', 'worker-controller'),
  instance_id: note('Which replica.', 'worker-controller-1'),
  epoch: note('The number of the leadership; grows with every new leader.', 7),
  is_leader: note('Whether it leads its service.'),
  software: note('The version that it runs.', '0.1.0'),
  queue: note('What it has yet to look at, and what it is looking at.'),
  retries: note('How many things it tries again.', 0),
  watch: note('Whether it hears of changes.'),
  last_sweep: note('When it last looked at everything.', LATER),
  plan: note('What it would do now, and why.'),
  seen_at: note('When it was last heard of.', LATER),
  triggers: note('How often somebody asked for a look at everything.', 0),
  resignations: note('How often somebody asked the leader to step down.', 0),

  collected_at: note('When it was measured.', LATER),
  cpu_utilization: note('In percent; null when nobody could say.', 12.5),
  memory_utilization: note('In percent; null when nobody could say.', 41.2),
  disk_utilization: note('In percent; null when nobody could say.', 33),
  cpu: shown(12.5),
  memory: shown(41.2),
  disk: shown(33),
  sessions_until: note('When the last session on it was released; null while there was none.', LATER),
  last_activity_at: note('When somebody last did something; null when nobody knows.', LATER),
  per_hour_usd: note('What it costs now.', 3.9641),
  spent_usd: note('What it has cost.', 18.2),
}

/** What is known of a field: by the schema it belongs to, else by its name alone. */
export const noteOf = (owner: string, field: string): FieldNote => ({
  ...FIELD_NOTES[field],
  ...ownNoteOf(owner, field),
})

/** What is known of this very field of this schema. */
export const ownNoteOf = (owner: string, field: string): FieldNote => SCHEMA_NOTES[`${owner}.${field}`] ?? {}
