import { ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { METAL } from '@lcm/testkit/a-control-plane'
import { anAttempt, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RESOURCES } from '../resources.ts'
import { aCourse, type Course, TOPOLOGY } from '../testing/bookable-fleet.ts'

/** What people who don't run the fleet may not read, by where it is planted. */
const OF_FLEET = {
  instance: 'i-0badc0ffee0badc0f',
  token: 'c0ffee'.repeat(11).slice(0, 64),
  image: 'ami-0planted0image',
  subnet: 'subnet-0planted',
  securityGroup: 'sg-0planted',
  zone: 'us-east-1-planted-zone',
  publicIp: '198.51.100.77',
  privateIp: '10.66.77.88',
  endpoint: 'https://198.51.100.78:8443',
  certificate: 'facade'.repeat(11).slice(0, 64),
  seenCertificate: 'decade'.repeat(11).slice(0, 64),
  approvedCertificate: 'efface'.repeat(11).slice(0, 64),
  tag: 'tag-value-planted',
  udi: 'PID:CML,SN:planted',
  licenseHost: 'license-host-planted',
  licenseError: 'license-error-planted',
  awsError: 'arn:aws:iam::123456789012:role/planted',
  freeText: 'free-text-planted',
  event: 'telemetry-detail-planted',
  fact: 'fact-seen-planted',
  guard: 'guard-value-planted',
  outcome: 'outcome-planted',
  plan: 'plan-text-planted',
  problem: 'problem-text-planted',
  pattern: 'image-pattern-planted',
  imageOwner: '123456789099',
  profile: 'profile-planted',
  secretRef: 'secret-ref-planted',
  leak: 'leak-udi-planted',
  leakHost: 'leak-host-planted',
  orphan: 'i-0deadbeef0orphan0',
  autoApproved: 'ami-0faceb00c0ffee001',
} as const
/** What authors may read, and users may not. */
const OF_AUTHORS = {
  configuration: 'enable secret planted-configuration',
  signature: 'X-Amz-Signature=planted-signature',
  syncError: 'bucket planted-bucket is not one of those',
} as const

const REFUSED: Reason = reason('ec2_refuses', {
  action: 'stop',
  instance_id: OF_FLEET.instance,
  aws_code: 'X',
  error: OF_FLEET.awsError,
})
const FREE = textReason(OF_FLEET.freeText)

let course: Course
let ids: Record<string, string>
let streams: Record<'user' | 'operator', Awaited<ReturnType<Course['follow']>>>
let stop: () => Promise<void>
/** Session and lab of another owner, and the lab's title. */
let foreign: readonly string[]

async function plantWorker(): Promise<string> {
  const { id } = await course.serving()
  const since = '2026-01-01T00:00:00.000Z'
  const attempt = anAttempt({
    client_token: OF_FLEET.token,
    error: OF_FLEET.awsError,
    parameters: someLaunchParameters({
      image_id: OF_FLEET.image,
      subnet_id: OF_FLEET.subnet,
      security_group_ids: [OF_FLEET.securityGroup],
    }),
  })
  await course.edit(id, worker => ({
    launch: attempt,
    ec2_instance_id: OF_FLEET.instance,
    ami_id: OF_FLEET.image,
    availability_zone: OF_FLEET.zone,
    public_ip: OF_FLEET.publicIp,
    private_ip: OF_FLEET.privateIp,
    https_endpoint: OF_FLEET.endpoint,
    tags: { planted: OF_FLEET.tag },
    cml: {
      ...worker.cml,
      certificate_sha256: OF_FLEET.certificate,
      seen_certificate_sha256: OF_FLEET.seenCertificate,
    },
    approval: { state: 'approved', by: 'auto_approve', at: since, fingerprint: OF_FLEET.approvedCertificate },
    license: {
      ...worker.license,
      udi: OF_FLEET.udi,
      hostname: OF_FLEET.licenseHost,
      last_error: OF_FLEET.licenseError,
    },
    conditions: [REFUSED, FREE].map((because, n) => ({ type: `T${n}`, status: true, reason: because, since })),
    state_history: [{ from: 'STARTING', to: 'RUNNING', at: since, because: REFUSED }],
    activity: { ...worker.activity, recent_events: [{ at: since, category: 'x', detail: OF_FLEET.event }] },
    pause: { ...worker.pause, reason: reason('retry_scheduled', { retry: 1, retries: 2, cause: REFUSED }) },
    secret_refs: { license: OF_FLEET.secretRef },
  }))
  return id
}

/** Decisions, a plan, a problem and a leak, as controllers report them. */
async function plantReports(workerId: string): Promise<void> {
  const headers = { ...course.asService('worker-controller'), 'lcm-epoch': '1' }
  const at = new Date(course.clock.now()).toISOString()
  const orphan = { action: 'orphan_report', because: FREE, resource: `fleet:${OF_FLEET.orphan}` }
  const decision = {
    id: 'd-1',
    at,
    resource: `worker:${workerId}`,
    action: 'stop',
    because: REFUSED,
    seen: { image: OF_FLEET.fact },
    guards: [{ name: 'image', value: OF_FLEET.guard, limit: 3, passed: true }],
    outcome: OF_FLEET.outcome,
  }
  await course.send('POST', 'decisions', {
    headers,
    json: { epoch: 1, decisions: [decision, { ...orphan, id: 'd-2', at }] },
  })
  const { version } = await course.get(workerId)
  const changes = { status: 'STOPPING' }
  const write = { changes, decision: { action: 'stop', because: REFUSED, outcome: OF_FLEET.outcome } }
  const stopped = await course.fenced('PATCH', `workers/${workerId}/status`, write, { ifMatch: version })
  if (stopped.status !== 200) throw new Error(String(stopped.body))
  const stop = { resource: `worker:${workerId}`, action: 'stop', because: textReason(OF_FLEET.plan) }
  const plan = [stop, orphan].map(each => ({ ...each, due_at: null }))
  const instance = {
    is_leader: true,
    epoch: 1,
    since: null,
    software: '0',
    queue: { due: 0, active: 0 },
    retries: 0,
    watch: { healthy: true, age_seconds: 0 },
    last_sweep: null,
    plan,
    problems: [textReason(OF_FLEET.problem)],
  }
  await course.send('PUT', 'services/worker-controller/instances/one', { headers, json: instance })
  const leak = { worker_id: workerId, udi: OF_FLEET.leak, hostname: OF_FLEET.leakHost, product: null, reason: FREE }
  await course.fenced('POST', 'license-leaks', leak)
}

async function plantTemplate(): Promise<void> {
  const template = {
    ...METAL,
    name: 'planted',
    ami_name_pattern: OF_FLEET.pattern,
    ami_owner: OF_FLEET.imageOwner,
    iam_instance_profile: OF_FLEET.profile,
    subnets: { 'us-east-1': [OF_FLEET.subnet] },
    user_data: 'x',
  }
  const made = (await course.send('POST', 'worker-templates', { json: template })).json
  const templates = course.store.collection(RESOURCES.templates)
  const stored = await templates.get(made.id)
  if (stored === null) throw new Error('there is no template')
  await templates.replace({ ...stored, version: stored.version + 1, secret_refs: { user_data: OF_FLEET.secretRef } })
}

async function plantDefinitions(): Promise<string> {
  const configured = TOPOLOGY.replace('    ram: 1024\n    x', `    configuration: ${OF_AUTHORS.configuration}\n    x`)
  const { id } = await course.define({ topology: configured })
  const source = `https://labs.example/x.yaml?${OF_AUTHORS.signature}`
  const remote = await course.define({ name: 'remote', topology: undefined, source })
  const result = { source, requested_at: remote.sync.at, result: { error: OF_AUTHORS.syncError } }
  await course.asLablets(`lablet-definitions/${remote.id}/sync-result`, result)
  return id
}

/** A session of an author on the worker, with a lab that was never anyone else's. */
async function plantForeignLab(workerId: string): Promise<readonly string[]> {
  const { id } = await course.book({}, 'author')
  await course.assign(id, workerId)
  await course.reportSession(id, { status: 'INSTANTIATING' })
  const lab = (await course.bind(id, { title: 'foreign-lab-title' })).json
  await course.ports(lab.id)
  await course.reportLab(lab.id, { status: 'STARTING' })
  return [id, lab.id, 'foreign-lab-title']
}

beforeAll(async () => {
  course = aCourse()
  stop = course.run()
  streams = { user: await course.follow('', 'user'), operator: await course.follow('', 'operator') }
  const serving = await course.serving()
  const definition = await plantDefinitions()
  foreign = await plantForeignLab(serving.id)
  const worker = await plantWorker()
  await plantTemplate()
  await course.send('PATCH', 'settings', { as: 'admin', json: { auto_approve: OF_FLEET.autoApproved } })
  await plantReports(worker)
  ids = {
    id: worker,
    name: 'planted',
    service: 'worker-controller',
    instance_id: 'one',
    'lablet-definitions.id': definition,
    'lablet-sessions.id': foreign[0] ?? '',
    'lab-records.id': foreign[1] ?? '',
  }
  await course.clock.advance(5_000)
})
afterAll(async () => {
  for (const stream of Object.values(streams)) await stream.stop()
  await stop()
})

async function everyAnswerTo(role: 'user' | 'author' | 'operator'): Promise<string> {
  const answers: string[] = []
  for (const [name, spec] of Object.entries<RouteSpec>(ROUTES)) {
    if (spec.method !== 'GET' || spec.stream) continue
    const [area = ''] = spec.path.slice(1).split('/')
    const path = spec.path
      .slice(1)
      .replaceAll(/\{(\w+)\}/g, (_, part: string) => ids[`${area}.${part}`] ?? ids[part] ?? '')
    const { status, body } = await course.send('GET', path, { as: role })
    expect([200, 403, 404], `${name}: ${status}`).toContain(status)
    answers.push(`${name} ${status === 200 ? body : ''}`)
  }
  for (const path of ['/health', '/ready', '/metrics', '/api/v1/openapi.json'])
    answers.push(`${path} ${String((await course.send('GET', path, { as: role })).body)}`)
  return answers.join('\n')
}
const found = (where: string, values: Readonly<Record<string, string>>) =>
  Object.keys(values).filter(name => where.includes(values[name] ?? ''))

describe('what only operators may read', () => {
  it('is in the answers to an operator', async () => {
    const all = await everyAnswerTo('operator')
    expect(found(all, OF_FLEET)).toEqual(Object.keys(OF_FLEET))
    expect(found(all, OF_AUTHORS)).toEqual(['configuration', 'syncError'])
    expect(foreign.filter(value => all.includes(value))).toEqual(foreign)
  })

  it.each(['user', 'author'] as const)('is in no answer to the role %s', async role => {
    expect(found(await everyAnswerTo(role), OF_FLEET)).toEqual([])
  })

  it('is in no event for a user', async () => {
    const [user, operator] = await Promise.all(
      [streams.user, streams.operator].map(async stream => {
        const events = await stream.seen()
        return { types: new Set(events.map(({ type }) => type)), text: stream.texts.join('') }
      }),
    )
    expect(found(user?.text ?? '', { ...OF_FLEET, ...OF_AUTHORS })).toEqual([])
    expect(found(operator?.text ?? '', OF_FLEET)).toEqual(
      expect.arrayContaining(['instance', 'token', 'fact', 'profile', 'orphan', 'autoApproved']),
    )
    expect(user?.types).toEqual(
      new Set([
        'heartbeat',
        'worker.created',
        'worker.updated',
        'template.created',
        'template.updated',
        'definition.created',
        'definition.updated',
        'settings.created',
        'decision',
      ]),
    )
  })
})

describe('what only authors may read', () => {
  it('is in the answers to an author', async () => {
    expect(found(await everyAnswerTo('author'), OF_AUTHORS)).toEqual(Object.keys(OF_AUTHORS))
  })

  it('is in no answer to a user, who still sees what to book', async () => {
    const all = await everyAnswerTo('user')
    expect(found(all, OF_AUTHORS)).toEqual([])
    const path = `lablet-definitions/${ids['lablet-definitions.id']}`
    expect((await course.send('GET', path, { as: 'user' })).json).toMatchObject({
      title: 'two routers',
      topology: null,
      topology_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      needs: { node_count: 2 },
      graph: { nodes: [{ label: 'r1' }, { label: 'r2' }] },
      port_template: [{ name: 'r1_serial' }],
    })
    const { items } = (await course.send('GET', 'lablet-definitions?name=remote', { as: 'user' })).json
    expect(items).toMatchObject([
      { source: 'https://labs.example/x.yaml', sync: { status: 'failed', error: 'the source could not be fetched' } },
    ])
  })

  it('has a signature only for the controller that fetches sources', async () => {
    for (const service of ['worker-controller', 'resource-scheduler', 'lablet-controller'] as const) {
      const { body } = await course.send('GET', 'lablet-definitions?name=remote', {
        headers: course.asService(service),
      })
      expect([service, found(String(body), OF_AUTHORS)]).toEqual([
        service,
        service === 'lablet-controller' ? ['signature', 'syncError'] : ['syncError'],
      ])
    }
  })

  it('has no signature in an event or the audit, for any role', async () => {
    const audit = String((await course.send('GET', 'audit', { as: 'admin' })).body)
    expect(audit).toContain('https://labs.example/x.yaml')
    for (const text of [streams.operator.texts.join(''), audit]) expect(text).not.toContain('planted-signature')
  })
})

describe('the session of another owner', () => {
  it('and its lab are in no answer to a user and in no event', async () => {
    const all = [await everyAnswerTo('user'), streams.user.texts.join('')].join('\n')
    expect(foreign.filter(value => all.includes(value))).toEqual([])
    expect(foreign.filter(value => streams.operator.texts.join('').includes(value))).toEqual(foreign)
  })

  it('has a lab whose deletion is not in an event for a user', async () => {
    const labs = course.store.collection(RESOURCES.labs)
    const lab = await labs.get(foreign[1] ?? '')
    if (lab === null) throw new Error('there is no lab')
    await labs.remove(lab)
    await course.clock.advance(1_000)
    await Promise.all(Object.values(streams).map(stream => stream.seen()))
    expect(streams.user.texts.join('')).not.toContain('lab.deleted')
    expect(streams.operator.texts.join('')).toContain('lab.deleted')
  })
})

it('the owner of a session reads the topology of its lab, and no user that of a lab without owner', async () => {
  const [sessionId, labId] = [(await course.book()).id, 'lab-records']
  const { items } = (await course.send('GET', 'workers', { as: 'operator' })).json
  const workerId = items.find((worker: { status: string }) => worker.status === 'RUNNING').id
  await course.assign(sessionId, workerId)
  await course.reportSession(sessionId, { status: 'INSTANTIATING' })
  const lab = (await course.bind(sessionId)).json
  const topology = (as: 'user' | 'author') => course.send('GET', `${labId}/${lab.id}/topology`, { as })
  expect((await topology('user')).json.topology).toContain(OF_AUTHORS.configuration)
  const labs = course.store.collection(RESOURCES.labs)
  await labs.replace({ ...lab, session_id: null, version: lab.version + 1 })
  expect(await topology('user')).toMatchObject({ status: 404 })
  expect((await topology('author')).json.topology).toContain(OF_AUTHORS.configuration)
})

it('a discovered lab that is removed is deleted for every actor', async () => {
  const { items } = (await course.send('GET', 'workers', { as: 'operator' })).json
  await course.scan(items[0].id, [{ lab_id: 'by-hand' }])
  const labs = course.store.collection(RESOURCES.labs)
  const [found] = (await labs.list({ limit: 100 })).filter(lab => lab.lab_id === 'by-hand')
  if (found === undefined) throw new Error('there is no lab')
  await labs.remove(found)
  await course.clock.advance(1_000)
  const events = (await streams.user.seen()).filter(event => 'id' in event && event.id === found.id)
  expect(events.map(({ type }) => type)).toEqual(['lab.created', 'lab.deleted'])
})
