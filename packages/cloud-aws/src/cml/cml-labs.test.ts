import { CloudError } from '@lcm/cloud/errors'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, describe, expect, it } from 'vitest'
import { cmlLabsClient } from './cml-labs.ts'
import { atEnd, closeAll, refused, type StubAnswer, type StubRequest, stubCml } from './testing/stub-cml.ts'

afterEach(closeAll)

const never = () => new AbortController().signal
const LAB = '11111111-2222-4333-8444-555555555555'

/** A server that responds by `method path`. */
async function server(answers: Readonly<Record<string, StubAnswer | ((request: StubRequest) => StubAnswer)>>) {
  const stub = await stubCml(request => {
    const answer = answers[`${request.method} ${request.path}`]
    return typeof answer === 'function' ? answer(request) : answer
  })
  const clock = manualClock()
  const labs = cmlLabsClient({ clock })
  atEnd(() => labs.close())
  return { ...stub, clock, labs }
}

const ok = (json: unknown): StubAnswer => ({ status: 200, json })
const DONE: StubAnswer = { status: 204 }
const lab = (id: string) => ({
  id,
  created: '2026-01-02T03:04:05+00:00',
  modified: 'a while ago',
  lab_title: `Lab ${id}`,
  owner: '00000000-0000-4000-8000-000000000001',
  owner_username: 'ann',
  state: 'STARTED',
  node_count: 3,
  link_count: 2,
  autostart: {},
})

describe('the labs of a server', () => {
  it('include those of all users, read a few at a time', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `lab-${index}`)
    const details = Object.fromEntries(ids.map(id => [`GET /labs/${id}`, ok(lab(id))]))
    const { labs, login, requests, connectionCount } = await server({ 'GET /labs': ok(ids), ...details })
    const found = await labs.list(login, never())
    expect(found.map(({ lab_id }) => lab_id)).toEqual(ids)
    expect(requests.find(({ path }) => path === '/labs')?.query).toBe('show_all=true')
    expect(connectionCount()).toBeLessThanOrEqual(8)
    expect(found[0]).toEqual({
      lab_id: 'lab-0',
      title: 'Lab lab-0',
      owner: 'ann',
      state: 'STARTED',
      node_count: 3,
      link_count: 2,
      created: '2026-01-02T03:04:05.000Z',
      modified: null,
    })
  })

  it('leave out one that was deleted meanwhile, but fail with one that could not be read', async () => {
    const gone = { 'GET /labs/b': refused(404, 'Lab not found: b') }
    const some = await server({ 'GET /labs': ok(['a', 'b']), 'GET /labs/a': ok(lab('a')), ...gone })
    expect((await some.labs.list(some.login, never())).map(({ lab_id }) => lab_id)).toEqual(['a'])
    const broken = { 'GET /labs/b': { status: 500, text: 'oops' } }
    const other = await server({ 'GET /labs': ok(['a', 'b']), 'GET /labs/a': ok(lab('a')), ...broken })
    await expect(other.labs.list(other.login, never())).rejects.toMatchObject({
      errorClass: 'transient',
      code: 'HTTP500',
    })
  })

  it.each([[{}], [[7]], [['../users']], [['a/b']], [null]])('are rejected as %j', async answer => {
    const { labs, login } = await server({ 'GET /labs': ok(answer) })
    await expect(labs.list(login, never())).rejects.toMatchObject({ errorClass: 'transient', code: 'MalformedAnswer' })
  })
})

describe('a lab', () => {
  it('is missing only if the server says so about this lab', async () => {
    for (const [answer, errorClass] of [
      [refused(404, `Lab not found: ${LAB}`), 'not_found'],
      [refused(404, `Lab not found: ${LAB.toUpperCase()}`), 'not_found'],
      [refused(404, 'Not Found'), 'transient'],
      [{ status: 404, text: `<html>/api/v0/labs/${LAB}</html>` }, 'transient'],
      [{ status: 404, text: '' }, 'transient'],
    ] as const) {
      const { labs, login } = await server({ [`GET /labs/${LAB}`]: answer, [`DELETE /labs/${LAB}`]: answer })
      await expect(labs.get(login, LAB, never())).rejects.toMatchObject({ errorClass, code: 'HTTP404' })
      const deletion = labs.delete(login, LAB, never()).catch((error: unknown) => error)
      expect((await deletion) instanceof CloudError).toBe(errorClass === 'transient')
    }
  })

  it("can't be named so that another path is requested", async () => {
    const { labs, login, asked } = await server({})
    for (const id of ['../licensing', '', 'a?b', 'a/b', '%2e']) {
      await expect(labs.delete(login, id, never())).rejects.toMatchObject({ errorClass: 'invalid', code: 'InvalidId' })
    }
    expect(asked()).toEqual([])
  })

  it('is changed by the older path on a server that does not support the newer one', async () => {
    const { labs, login, asked } = await server({
      [`GET /labs/${LAB}`]: ok(lab(LAB)),
      [`PUT /labs/${LAB}/state/stop`]: DONE,
    })
    await labs.stop(login, LAB, never())
    expect(asked()).toEqual([`PUT /labs/${LAB}/stop`, `GET /labs/${LAB}`, `PUT /labs/${LAB}/state/stop`])
  })

  it('that is missing is not changed by the older path', async () => {
    const { labs, login, asked } = await server({ [`PUT /labs/${LAB}/start`]: refused(404, `Lab not found: ${LAB}`) })
    await expect(labs.start(login, LAB, never())).rejects.toMatchObject({ errorClass: 'not_found' })
    expect(asked()).toEqual([`PUT /labs/${LAB}/start`])
    const old = await server({ [`GET /labs/${LAB}`]: refused(404, `Lab not found: ${LAB}`) })
    await expect(old.labs.wipe(old.login, LAB, never())).rejects.toMatchObject({ errorClass: 'not_found' })
    expect(old.asked()).toEqual([`PUT /labs/${LAB}/wipe`, `GET /labs/${LAB}`])
  })

  it.each([['"true"'], ['{}'], ['1'], [''], ['<html>']])('has not converged by the answer %s', async text => {
    const { labs, login } = await server({ [`GET /labs/${LAB}/check_if_converged`]: { status: 200, text } })
    await expect(labs.isConverged(login, LAB, never())).rejects.toMatchObject({ code: 'MalformedAnswer' })
  })
})

describe('importing a lab', () => {
  it('sends the text unchanged, without a content type', async () => {
    const warnings = ['**unknown image**', 7]
    const { labs, login, requests } = await server({ 'POST /import': ok({ id: LAB, warnings }) })
    const topology = 'lab:\n  title: ä\n'
    const title = 'A & B?'.padEnd(80, 'x')
    expect(await labs.import(login, { title, topology }, never())).toEqual({
      lab_id: LAB,
      warnings: ['**unknown image**'],
    })
    const sent = requests.at(-1)
    expect(sent).toMatchObject({ body: topology, query: new URLSearchParams({ title: title.slice(0, 64) }).toString() })
    expect(sent?.headers).not.toHaveProperty('content-type')
  })

  it('reports each reason why CML rejected it', async () => {
    const problems = [
      { location: ['body', 'nodes', 0, 'x'], type: 'missing', message: 'Field required' },
      { location: ['body', 'lab'], type: 'missing', message: 'Field required' },
    ]
    const description = JSON.stringify({ 'Input validation failed': problems })
    const { labs, login } = await server({ 'POST /import': refused(400, description) })
    await expect(labs.import(login, { title: 't', topology: 'x' }, never())).rejects.toMatchObject({
      errorClass: 'invalid',
      message: expect.stringContaining(
        'Input validation failed: body.nodes.0.x: Field required; body.lab: Field required',
      ),
    })
  })

  it('does not send a topology that every server rejects', async () => {
    const { labs, login, requests } = await server({})
    const topology = 'x'.repeat(20 * 1024 * 1024 + 1)
    await expect(labs.import(login, { title: 't', topology }, never())).rejects.toMatchObject({ errorClass: 'invalid' })
    expect(requests).toEqual([])
  })
})

describe('the nodes of a lab', () => {
  const node = { id: 'n1', label: 'r1', node_definition: 'iosv', state: 'BOOTED', tags: ['pat:2000:22', 7], cpus: 1 }
  const read = { node_id: 'n1', label: 'r1', node_definition: 'iosv', state: 'BOOTED', tags: ['pat:2000:22'] }

  it('are read in one call, without their configurations', async () => {
    const { labs, login, requests } = await server({ [`GET /labs/${LAB}/nodes`]: ok([node]) })
    expect(await labs.nodes(login, LAB, never())).toEqual([read])
    expect(requests.at(-1)?.query).toBe('data=true&exclude_configurations=true')
  })

  it('are read one by one from a server that sends ids', async () => {
    const { labs, login } = await server({
      [`GET /labs/${LAB}/nodes`]: ok(['n1']),
      [`GET /labs/${LAB}/nodes/n1`]: ok(node),
    })
    expect(await labs.nodes(login, LAB, never())).toEqual([read])
  })

  it('do not make the lab a missing one when one of them is deleted meanwhile', async () => {
    const { labs, login } = await server({
      [`GET /labs/${LAB}/nodes`]: ok(['n1']),
      [`GET /labs/${LAB}/nodes/n1`]: refused(404, 'Node not found: n1'),
    })
    await expect(labs.nodes(login, LAB, never())).rejects.toMatchObject({ errorClass: 'transient' })
  })

  it('are rejected when one is incomplete', async () => {
    const { labs, login } = await server({ [`GET /labs/${LAB}/nodes`]: ok([node, { id: 'n2' }]) })
    await expect(labs.nodes(login, LAB, never())).rejects.toMatchObject({ code: 'MalformedAnswer' })
  })
})

describe('the configuration of a node', () => {
  const NODE = { lab_id: LAB, node_id: 'n1' }
  const PATH = `/labs/${LAB}/nodes/n1`
  const extract = async (answer: StubAnswer) => {
    const { labs, login } = await server({ [`PUT ${PATH}/extract_configuration`]: answer })
    return labs.extractConfiguration(login, NODE, never())
  }

  it('is extracted, whatever CML answers with', async () => {
    for (const answer of [DONE, ok({}), ok('hostname R1'), { status: 200, text: 'hostname R1\n' }])
      await extract(answer)
  })

  it.each([
    ['the node has not booted', refused(400, 'Node n1 is not booted.'), 'invalid'],
    ['the node is gone', refused(404, 'Node not found: n1'), 'not_found'],
    ['the lab is gone', refused(404, `Lab not found: ${LAB}`), 'not_found'],
    ['the path is unknown', refused(404, 'Not Found'), 'transient'],
    ['CML is busy', refused(409, 'Another extraction is running'), 'state'],
    ['CML fails', refused(500, 'Internal server error'), 'transient'],
    ['a proxy answers', { status: 200, text: '<html>', headers: { 'content-type': 'text/html' } }, 'transient'],
    ['the answer is too long', { status: 200, text: 'x'.repeat(20 * 1024 * 1024 + 1) }, 'transient'],
  ])('is not extracted when %s', async (_name, answer, errorClass) => {
    await expect(extract(answer)).rejects.toMatchObject({ name: 'CloudError', errorClass })
  })

  it('can not be asked of another path', async () => {
    const { labs, login, asked } = await server({})
    const call = labs.extractConfiguration(login, { lab_id: LAB, node_id: '../../licensing' }, never())
    await expect(call).rejects.toMatchObject({ errorClass: 'invalid', code: 'InvalidId' })
    expect(asked()).toEqual([])
  })

  it('is on its console, which is read as text or as a JSON string', async () => {
    for (const answer of [ok('R1#\n'), { status: 200, text: 'R1#\n' }]) {
      const { labs, login, requests } = await server({ [`GET ${PATH}/consoles/0/log`]: answer })
      expect(await labs.consoleLog(login, NODE, never())).toBe('R1#\n')
      expect(requests.at(-1)?.query).toBe('lines=50')
    }
  })
})

describe('downloading a lab', () => {
  const download = async (answer: StubAnswer) => {
    const { labs, login } = await server({ [`GET /labs/${LAB}/download`]: answer })
    return labs.download(login, LAB, never())
  }

  it('returns the text, also if it is sent as a JSON string', async () => {
    const topology = 'lab:\n  title: x\nnodes: []\n'
    expect(await download({ status: 200, text: topology })).toBe(topology)
    expect(await download(ok(topology))).toBe(topology)
  })

  it.each([
    ['a page', { status: 200, text: '<!doctype html>' }],
    ['a page of that type', { status: 200, text: 'nodes', headers: { 'content-type': 'Text/HTML; charset=utf-8' } }],
    ['nothing', { status: 200, text: '' }],
  ])('rejects %s', async (_name, answer) => {
    await expect(download(answer)).rejects.toMatchObject({ errorClass: 'transient', code: 'MalformedAnswer' })
  })
})

it('returns the node quota, which may be unlimited', async () => {
  const { labs, login } = await server({ 'GET /diagnostics/licensing': ok({ quota: null, started: 4, user_quota: 3 }) })
  expect(await labs.nodeQuota(login, never())).toEqual({ quota: null, started: 4 })
})

it.each([
  ['import', 60_000, 'POST /import'],
  ['download', 60_000, `GET /labs/${LAB}/download`],
  ['extractConfiguration', 60_000, `PUT /labs/${LAB}/nodes/n1/extract_configuration`],
  ['start', 15_000, `PUT /labs/${LAB}/start`],
] as const)('gives %s %i ms', async (act, deadlineMs, path) => {
  const { labs, login, clock, until, asked } = await server({ [path]: 'hang' })
  const calls = {
    import: () => labs.import(login, { title: 't', topology: 'x' }, never()),
    extractConfiguration: () => labs.extractConfiguration(login, { lab_id: LAB, node_id: 'n1' }, never()),
    download: () => labs.download(login, LAB, never()),
    start: () => labs.start(login, LAB, never()),
  }
  const call: Promise<unknown> = calls[act]()
  let isOver = false
  const end = call.catch((error: unknown) => error).finally(() => (isOver = true))
  await until(() => asked().length === 1)
  await clock.advance(deadlineMs - 1)
  expect(isOver).toBe(false)
  await clock.advance(1)
  expect(await end).toMatchObject({ errorClass: 'transient', code: 'TimeoutError' })
})
