import { describe, expect, it } from 'vitest'
import type { CmlNodePath } from '../cml-labs.ts'
import type { CmlLogin } from '../cml-login.ts'
import {
  bootAndLogIn,
  type CmlServerFixture,
  cmlServerPerTest,
  eventually,
  expectRefusal,
  type GetCmlServer,
  never,
  OTHER_PIN,
  topologyOf,
  whileTimePasses,
} from './cml-server-fixture.ts'

/** Cases that every adapter of the CML Labs port must pass. */
export function cmlLabsConformance(name: string, open: () => Promise<CmlServerFixture>): void {
  describe(`the CML labs API on ${name}`, () => {
    const server = cmlServerPerTest(open)
    describe('the life of a lab', () => life(server))
    describe('importing', () => importing(server))
    describe('the work of a learner', () => work(server))
    describe('refusals', () => refusals(server))
    describe('sessions', () => sessions(server))
  })
}

const NO_SUCH_LAB = '00000000-0000-4000-8000-000000000000'

async function imported({ labs }: CmlServerFixture, login: CmlLogin, nodeCount: number): Promise<string> {
  const { lab_id } = await labs.import(login, { title: 'My lab', topology: topologyOf(nodeCount) }, never())
  return lab_id
}

function converged(server: CmlServerFixture, login: CmlLogin, labId: string): Promise<boolean> {
  const isBooted = () => server.labs.isConverged(login, labId, never())
  return eventually(server, isBooted, isConverged => isConverged)
}

async function nodeStates({ labs }: CmlServerFixture, login: CmlLogin, labId: string): Promise<readonly string[]> {
  return (await labs.nodes(login, labId, never())).map(node => node.state)
}

function life(server: GetCmlServer): void {
  it('goes from import to delete', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const labId = await imported(server(), login, 2)
    const fresh = { lab_id: labId, title: 'My lab', state: 'DEFINED_ON_CORE', node_count: 2, link_count: 1 }
    expect(await labs.get(login, labId, never())).toMatchObject(fresh)
    await labs.start(login, labId, never())
    expect(await labs.get(login, labId, never())).toMatchObject({ state: 'STARTED' })
    expect(await labs.isConverged(login, labId, never())).toBe(false)
    await converged(server(), login, labId)
    expect(await nodeStates(server(), login, labId)).toEqual(['BOOTED', 'BOOTED'])
    await labs.stop(login, labId, never())
    await converged(server(), login, labId)
    expect(await labs.get(login, labId, never())).toMatchObject({ state: 'STOPPED' })
    await labs.wipe(login, labId, never())
    await converged(server(), login, labId)
    expect(await labs.get(login, labId, never())).toMatchObject(fresh)
    await labs.delete(login, labId, never())
    await expectRefusal(labs.get(login, labId, never()), 'not_found')
    expect(await labs.list(login, never())).toEqual([])
  })

  it('accepts every change twice', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const labId = await imported(server(), login, 1)
    for (const change of ['start', 'start', 'stop', 'stop', 'wipe', 'wipe', 'delete', 'delete'] as const) {
      await labs[change](login, labId, never())
      if (change !== 'delete') await converged(server(), login, labId)
    }
    await expectRefusal(labs.get(login, labId, never()), 'not_found')
  })

  it('counts running nodes against the quota', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const before = await labs.nodeQuota(login, never())
    expect(before.started).toBe(0)
    expect(before.quota).toBeGreaterThan(0)
    const labId = await imported(server(), login, 3)
    await labs.start(login, labId, never())
    await converged(server(), login, labId)
    expect(await labs.nodeQuota(login, never())).toEqual({ quota: before.quota, started: 3 })
  })
}

function importing(server: GetCmlServer): void {
  it('creates a new lab each time, also with the same title', async () => {
    const login = await bootAndLogIn(server())
    const ids = [await imported(server(), login, 1), await imported(server(), login, 2)]
    expect(new Set(ids).size).toBe(2)
    const labs = await server().labs.list(login, never())
    expect(labs.map(lab => lab.lab_id).sort()).toEqual([...ids].sort())
    expect(labs.map(lab => lab.title)).toEqual(['My lab', 'My lab'])
    expect(labs.map(lab => lab.owner)).toEqual([login.username, login.username])
    for (const { created } of labs) expect(created).toBe(new Date(created ?? '').toISOString())
  })

  it('keeps labels, definitions and tags of the nodes, and returns the topology', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const topology = topologyOf(2, ['serial:2001', 'pat:tcp:2002:22'])
    const { lab_id } = await labs.import(login, { title: 'Ümläut & 100 % ?', topology }, never())
    expect(await labs.get(login, lab_id, never())).toMatchObject({ title: 'Ümläut & 100 % ?' })
    const nodes = await labs.nodes(login, lab_id, never())
    const node = { node_definition: 'server', state: 'DEFINED_ON_CORE', tags: ['serial:2001', 'pat:tcp:2002:22'] }
    expect(nodes).toEqual([
      expect.objectContaining({ ...node, label: 'server-0' }),
      expect.objectContaining({ ...node, label: 'server-1' }),
    ])
    const text = await labs.download(login, lab_id, never())
    for (const part of ['server-0', 'server-1', 'serial:2001', '0.3.0']) expect(text).toContain(part)
    const again = await labs.import(login, { title: 'again', topology: text }, never())
    expect(await labs.get(login, again.lab_id, never())).toMatchObject({ node_count: 2, link_count: 1 })
  })

  it.each([
    ['no topology at all', 'hello'],
    ['broken YAML', 'lab: ['],
    ['an unknown version', topologyOf(1).replace('0.3.0', '9.9.9')],
    ['a node without a definition', topologyOf(1).replace('"node_definition":"server",', '')],
  ])('rejects %s with the message of CML', async (_name, topology) => {
    const login = await bootAndLogIn(server())
    const refusal = await expectRefusal(server().labs.import(login, { title: 'x', topology }, never()), 'invalid')
    expect(refusal.message.length).toBeGreaterThan(20)
    expect(await server().labs.list(login, never())).toEqual([])
  })
}

const R1 = 'server-0'

async function theNode({ labs }: CmlServerFixture, login: CmlLogin, lab_id: string): Promise<CmlNodePath> {
  const node = (await labs.nodes(login, lab_id, never())).find(({ label }) => label === R1)
  return { lab_id, node_id: node?.node_id ?? '' }
}

function work(server: GetCmlServer): void {
  it('is in the topology once it is extracted, and another lab boots with it', async () => {
    const login = await bootAndLogIn(server())
    const { labs, typeOn } = server()
    const lab_id = await imported(server(), login, 2)
    await labs.start(login, lab_id, never())
    await converged(server(), login, lab_id)
    const node = await theNode(server(), login, lab_id)
    await typeOn({ lab_id, node: R1, line: 'hostname Ümläut-1' })
    expect(await labs.download(login, lab_id, never())).not.toContain('hostname')
    await whileTimePasses(server(), labs.extractConfiguration(login, node, never()))
    await whileTimePasses(server(), labs.extractConfiguration(login, node, never()))
    const saved = await labs.download(login, lab_id, never())
    expect(saved.split('hostname Ümläut-1')).toHaveLength(2)

    const { lab_id: again } = await labs.import(login, { title: 'again', topology: saved }, never())
    await labs.start(login, again, never())
    await converged(server(), login, again)
    await whileTimePasses(server(), labs.extractConfiguration(login, await theNode(server(), login, again), never()))
    expect((await labs.download(login, again, never())).replace('title: again', 'title: My lab')).toBe(saved)
  })

  it('survives a stop of the lab, and a wipe only once it is extracted', async () => {
    const login = await bootAndLogIn(server())
    const { labs, typeOn } = server()
    const lab_id = await imported(server(), login, 1)
    const change = async (...acts: readonly ('start' | 'stop' | 'wipe')[]) => {
      for (const act of acts) {
        await labs[act](login, lab_id, never())
        await converged(server(), login, lab_id)
      }
    }
    const extracted = async () => {
      const node = await theNode(server(), login, lab_id)
      await whileTimePasses(server(), labs.extractConfiguration(login, node, never()))
      return labs.download(login, lab_id, never())
    }
    await change('start')
    await typeOn({ lab_id, node: R1, line: 'hostname one' })
    await change('stop', 'start')
    expect(await extracted()).toContain('hostname one')
    await typeOn({ lab_id, node: R1, line: 'hostname two' })
    await change('stop', 'wipe', 'start')
    expect(await extracted()).toContain('hostname one')
  })

  it('shows on the console of its node', async () => {
    const login = await bootAndLogIn(server())
    const { labs, typeOn } = server()
    const lab_id = await imported(server(), login, 1)
    await labs.start(login, lab_id, never())
    await converged(server(), login, lab_id)
    const node = await theNode(server(), login, lab_id)
    const before = await labs.consoleLog(login, node, never())
    expect(await labs.consoleLog(login, node, never())).toBe(before)
    await typeOn({ lab_id, node: R1, line: 'show version' })
    expect(await labs.consoleLog(login, node, never())).toContain('show version')
  })

  it("can't be extracted before the node has booted, or from a node that is not there", async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const lab_id = await imported(server(), login, 1)
    const node = await theNode(server(), login, lab_id)
    await expectRefusal(labs.extractConfiguration(login, node, never()), 'invalid')
    for (const gone of [
      { ...node, node_id: NO_SUCH_LAB },
      { ...node, lab_id: NO_SUCH_LAB },
    ]) {
      await expectRefusal(labs.extractConfiguration(login, gone, never()), 'not_found')
      await expectRefusal(labs.consoleLog(login, gone, never()), 'not_found')
    }
  })

  it("can't be extracted from a definition that does not support it", async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const topology = topologyOf(1).replace('"node_definition":"server"', '"node_definition":"unmanaged_switch"')
    const { lab_id } = await labs.import(login, { title: 'x', topology }, never())
    await labs.start(login, lab_id, never())
    await converged(server(), login, lab_id)
    const node = await theNode(server(), login, lab_id)
    const refusal = await expectRefusal(labs.extractConfiguration(login, node, never()), 'invalid')
    expect(refusal.message.length).toBeGreaterThan(20)
    await expectRefusal(labs.consoleLog(login, node, never()), 'invalid')
  })
}

function refusals(server: GetCmlServer): void {
  it('rejects a missing lab; but deleting it succeeds', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    for (const act of ['get', 'start', 'stop', 'wipe', 'isConverged', 'nodes', 'download'] as const) {
      await expectRefusal(labs[act](login, NO_SUCH_LAB, never()), 'not_found')
    }
    await labs.delete(login, NO_SUCH_LAB, never())
  })

  it('deletes only a lab that is stopped and wiped', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const labId = await imported(server(), login, 1)
    await labs.start(login, labId, never())
    await converged(server(), login, labId)
    await expectRefusal(labs.delete(login, labId, never()), 'invalid')
    await expectRefusal(labs.wipe(login, labId, never()), 'invalid')
    await labs.stop(login, labId, never())
    await converged(server(), login, labId)
    await expectRefusal(labs.delete(login, labId, never()), 'invalid')
    expect(await labs.get(login, labId, never())).toMatchObject({ state: 'STOPPED' })
  })

  it('starts no more nodes than the license allows', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const { quota } = await labs.nodeQuota(login, never())
    const labId = await imported(server(), login, (quota ?? 0) + 1)
    const refusal = await expectRefusal(labs.start(login, labId, never()), 'invalid')
    expect(refusal.message.length).toBeGreaterThan(20)
    expect(await labs.nodeQuota(login, never())).toMatchObject({ started: 0 })
  })
}

function sessions(server: GetCmlServer): void {
  it('rejects a wrong password', async () => {
    const login = await bootAndLogIn(server())
    await expectRefusal(server().labs.list({ ...login, password: 'wrong' }, never()), 'auth')
    expect(await server().labs.list(login, never())).toEqual([])
  })

  it('logs in again when the server has forgotten the session', async () => {
    const login = await bootAndLogIn(server())
    const labId = await imported(server(), login, 1)
    await server().forgetSessions()
    await server().labs.start(login, labId, never())
    await server().forgetSessions()
    expect(await server().labs.get(login, labId, never())).toMatchObject({ state: 'STARTED' })
  })

  it('does nothing on a server with another certificate, or when the signal has aborted', async () => {
    const login = await bootAndLogIn(server())
    const { labs } = server()
    const labId = await imported(server(), login, 1)
    await expectRefusal(labs.start({ ...login, certificate_sha256: OTHER_PIN }, labId, never()), 'transient')
    await expectRefusal(labs.start(login, labId, AbortSignal.abort()), 'transient')
    expect(await labs.get(login, labId, never())).toMatchObject({ state: 'DEFINED_ON_CORE' })
  })
}
