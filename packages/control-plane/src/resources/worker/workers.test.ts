import { textReason } from '@lcm/domain/reason'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'

let plane: ReturnType<typeof aControlPlane>
beforeEach(() => {
  plane = aControlPlane()
})

const report = (id: string, version: number, changes: object) => plane.report(id, version, changes)

describe('creating a worker', () => {
  it('returns 201 with the worker, its location and its version', async () => {
    await plane.create()
    const answer = await plane.send('POST', 'workers', {
      json: { template_name: 'metal', name: 'mine', tags: { team: 'a' } },
    })
    expect(answer.status).toBe(201)
    expect(answer.json).toMatchObject({
      version: 1,
      name: 'mine',
      status: 'PENDING',
      desired_status: 'RUNNING',
      desired_by: 'admin',
      aws_region: 'us-east-1',
      tags: { team: 'a' },
      cost_per_hour_usd: 4,
    })
    expect(answer.headers).toMatchObject({ location: `/api/v1/workers/${answer.json.id}`, etag: '"1"' })
    expect((await plane.send('GET', answer.headers.location ?? '')).json).toEqual(answer.json)
  })

  it('creates a name when none is given', async () => {
    expect((await plane.create()).name).toMatch(/^metal-[0-9a-z]{4}$/)
  })

  it.each([
    [{ template_name: 'none' }, 422, 'template_not_found', 'there is no template none'],
    [{ template_name: 'metal', aws_region: 'eu-north-1' }, 422, 'region_not_configured', 'us-east-1, eu-west-1'],
    [{ template_name: 'metal', aws_region: 'nowhere' }, 422, 'region_not_configured', 'us-east-1, eu-west-1'],
    [{ template_name: 'metal', tags: { 'lcm:fleet': 'x' } }, 400, 'validation_failed', 'reserved'],
    [{ template_name: 'metal', name: 'a\u0000b' }, 400, 'validation_failed', 'NUL'],
    [{ template_name: 'metal', name: 'my  lab' }, 400, 'validation_failed', 'one space between them'],
    [{ template_name: 'metal', name: 'x'.repeat(81) }, 400, 'validation_failed', 'at most 80 characters'],
    [{ template_name: 'metal', color: 'red' }, 400, 'validation_failed', 'color'],
    [{}, 400, 'validation_failed', 'template_name'],
  ])('refuses %j', async (json, status, code, detail) => {
    await plane.create()
    const answer = await plane.send('POST', 'workers', { json })
    expect(answer).toMatchObject({ status, json: { status, code } })
    expect(JSON.stringify(answer.json)).toContain(detail)
    expect(answer.headers['content-type']).toBe('application/problem+json')
  })

  it('refuses a disabled template', async () => {
    await plane.create()
    await plane.send('POST', 'worker-templates', {
      json: { ...(await import('@lcm/testkit/a-control-plane')).METAL, name: 'off', enabled: false },
    })
    expect(await plane.send('POST', 'workers', { json: { template_name: 'off' } })).toMatchObject({
      status: 422,
      json: { code: 'template_disabled' },
    })
  })
})

describe('changing the desired status', () => {
  it('writes only the desired status', async () => {
    const worker = await plane.create()
    const answer = await plane.send('POST', `workers/${worker.id}/stop`, {
      as: 'operator',
      json: { reason: 'class is over' },
    })
    expect(answer.status).toBe(202)
    expect(answer.json).toEqual({
      ...worker,
      version: 2,
      desired_status: 'STOPPED',
      desired_by: 'operator',
      desired_reason: 'class is over',
      desired_at: answer.json.updated_at,
      updated_at: answer.json.updated_at,
      pause: { ...worker.pause, last_paused_at: answer.json.updated_at, counts: { auto: 0, manual: 1, resumed: 0 } },
    })
  })

  it('does not write an unchanged desired status', async () => {
    const worker = await plane.create()
    await plane.send('POST', `workers/${worker.id}/start`, {})
    const again = await plane.send('POST', `workers/${worker.id}/start`)
    expect(again).toMatchObject({ status: 202, json: { version: 2 } })
  })

  it('can’t be undone once the worker is to be terminated', async () => {
    const worker = await plane.create()
    await plane.send('POST', `workers/${worker.id}/terminate`)
    for (const verb of ['start', 'stop']) {
      const refused = await plane.send('POST', `workers/${worker.id}/${verb}`)
      expect(refused, verb).toMatchObject({ status: 409, json: { code: 'worker_terminating' } })
    }
  })

  it('refuses to terminate a protected worker', async () => {
    const worker = await plane.create({ protected: true })
    expect(await plane.send('POST', `workers/${worker.id}/terminate`)).toMatchObject({
      status: 409,
      json: { code: 'worker_protected' },
    })
    expect((await plane.send('POST', `workers/${worker.id}/stop`)).status).toBe(202)
  })

  it('accepts the end of a protection', async () => {
    const worker = await plane.create({ protected: true })
    const unprotected = await plane.send('PATCH', `workers/${worker.id}`, {
      json: { protected: false, name: 'renamed' },
    })
    expect(unprotected).toMatchObject({ status: 200, json: { protected: false, name: 'renamed', version: 2 } })
    expect(await plane.send('PATCH', `workers/${worker.id}`, { json: { name: 'renamed' } })).toMatchObject({
      json: { version: 2 },
    })
    expect((await plane.send('POST', `workers/${worker.id}/terminate`)).status).toBe(202)
  })

  it('honors If-Match', async () => {
    const worker = await plane.create()
    const stale = await plane.send('POST', `workers/${worker.id}/stop`, { headers: { 'if-match': '"7"' } })
    expect(stale).toMatchObject({ status: 412, json: { code: 'version_mismatch' } })
    const fresh = await plane.send('POST', `workers/${worker.id}/stop`, { headers: { 'if-match': '"1"' } })
    expect(fresh.status).toBe(202)
  })
})

describe('reporting the status', () => {
  it('follows the legal moves and keeps the history', async () => {
    const worker = await plane.create()
    await plane.clock.advance(1_000)
    const moved = await report(worker.id, 1, { status: 'PROVISIONING', ec2_instance_id: 'i-1' })
    expect(moved.status).toBe(200)
    expect(moved.json).toMatchObject({ version: 2, status: 'PROVISIONING', ec2_instance_id: 'i-1' })
    expect(moved.json.entered_status_at).not.toBe(worker.entered_status_at)
    expect(moved.json.state_history.at(-1)).toMatchObject({
      from: 'PENDING',
      to: 'PROVISIONING',
      because: { message: 'the test says so' },
    })
  })

  it('refuses an illegal move at the write', async () => {
    const worker = await plane.create()
    expect(await report(worker.id, 1, { status: 'RUNNING' })).toMatchObject({
      status: 409,
      json: { code: 'illegal_transition' },
    })
    expect((await plane.send('GET', `workers/${worker.id}`)).json).toEqual(worker)
  })

  it('requires the base version', async () => {
    const worker = await plane.create()
    const blind = await plane.send('PATCH', `workers/${worker.id}/status`, {
      as: 'controller',
      json: { changes: {}, decision: { action: 'write', because: textReason('x') } },
    })
    expect(blind).toMatchObject({ status: 428, json: { code: 'precondition_required' } })
    expect(await report(worker.id, 9, { service_status: 'STARTING' })).toMatchObject({ status: 412 })
  })

  it('cannot change the desired status', async () => {
    const worker = await plane.create()
    expect(await report(worker.id, 1, { desired_status: 'TERMINATED' })).toMatchObject({
      status: 400,
      json: { code: 'validation_failed' },
    })
  })

  it('assigns a machine to one worker only', async () => {
    const [a, b] = [await plane.create(), await plane.create()]
    await report(a.id, 1, { status: 'PROVISIONING', ec2_instance_id: 'i-1' })
    expect(await report(b.id, 1, { status: 'PROVISIONING', ec2_instance_id: 'i-1' })).toMatchObject({
      status: 409,
      json: { code: 'already_exists' },
    })
  })

  it('keeps the newest fifty moves', async () => {
    const worker = await plane.create()
    await report(worker.id, 1, { status: 'PROVISIONING', ec2_instance_id: 'i-1' })
    await report(worker.id, 2, { status: 'STOPPED' })
    for (let version = 3; version < 63; version++) {
      await report(worker.id, version, {
        status: ['STARTING', 'STOPPED'][version % 2] === 'STARTING' ? 'STOPPED' : 'STARTING',
      })
    }
    const { json } = await plane.send('GET', `workers/${worker.id}`)
    expect(json.state_history).toHaveLength(50)
  })
})

describe('removing a record', () => {
  it('is refused until the machine is terminated', async () => {
    const worker = await plane.create()
    expect(await plane.send('DELETE', `workers/${worker.id}`)).toMatchObject({
      status: 409,
      json: { code: 'worker_not_terminated' },
    })
    await plane.send('POST', `workers/${worker.id}/terminate`)
    await report(worker.id, 2, { status: 'TERMINATED' })
    expect(await plane.send('DELETE', `workers/${worker.id}`)).toMatchObject({ status: 204, body: null })
    expect(await plane.send('GET', `workers/${worker.id}`)).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })
})

describe('listing', () => {
  it('pages through everything, hides terminated workers, and filters', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const workers = []
    for (const name of names) {
      workers.push(await plane.create({ name, aws_region: name === 'e' ? 'eu-west-1' : 'us-east-1' }))
      await plane.clock.advance(5)
    }
    const dead = workers[1]
    await plane.send('POST', `workers/${dead.id}/terminate`)
    await report(dead.id, 2, { status: 'TERMINATED' })
    const list = async (query: string) => (await plane.send('GET', `workers?${query}`)).json
    const first = await list('limit=3')
    const second = await list(`limit=3&cursor=${first.next_cursor}`)
    const namesOf = (page: { items: { name: string }[] }) => page.items.map(worker => worker.name)
    expect([namesOf(first), namesOf(second), second.next_cursor]).toEqual([['a', 'c', 'd'], ['e'], null])
    expect(namesOf(await list('include_terminated=true'))).toEqual(names)
    expect(namesOf(await list('status=TERMINATED'))).toEqual(['b'])
    expect(namesOf(await list('region=eu-west-1'))).toEqual(['e'])
    expect(namesOf(await list('q=D'))).toEqual(['d'])
    expect(namesOf(await list('desired_status=TERMINATED&template=metal&include_terminated=true'))).toEqual(['b'])
  })

  it.each(['limit=0', 'limit=1001', 'limit=x', 'status=NONE', 'color=red', 'cursor='])('refuses ?%s', async query => {
    expect(await plane.send('GET', `workers?${query}`)).toMatchObject({
      status: 400,
      json: { code: 'validation_failed' },
    })
  })
})

it('keeps every change of fifty concurrent people by compare-and-set', async () => {
  const worker = await plane.create()
  const verbs = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? 'stop' : 'start'))
  const answers = await Promise.all(verbs.map(verb => plane.send('POST', `workers/${worker.id}/${verb}`)))
  expect(answers.every(answer => answer.status === 202)).toBe(true)
  const versions = answers.map(answer => answer.json.version)
  expect((await plane.send('GET', `workers/${worker.id}`)).json.version).toBe(Math.max(...versions))
})
