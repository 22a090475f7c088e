import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { SavedNode } from '@lcm/domain/save/save'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aReadySession, aTemplate, START_MS } from '../testing/resource-builders.ts'

const SECOND_MS = 1_000
const TOPOLOGY = 'lab:\n  version: 0.3.0\nnodes: []\nlinks: []\n'
const NODES: readonly SavedNode[] = [
  { label: 'r1', outcome: 'saved', reason: null },
  { label: 'r3', outcome: 'skipped', reason: reason('console_in_use') },
]

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lcm-save-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A session in use. */
function course() {
  const captured = capturedShell()
  const { api } = captured
  const { plane, sessions } = api
  api.definitions.put(aDefinition())
  api.putTemplate(aTemplate())
  sessions.put(aReadySession({ status: 'RUNNING' }))
  const controller = plane.others('lablet-controller')
  let attempts = 0
  /** The lablet-controller saves it; resolves to the id of the save. */
  async function saved(): Promise<string> {
    await plane.clock.advance(SECOND_MS)
    await plane.registerTerm('lablet-controller', 9 + attempts)
    const body = {
      ...{ cause: 'request' as const, began_at: toInstant(plane.clock.now()) },
      ...{ topology: gzipSync(TOPOLOGY).toString('base64'), nodes: [...NODES] },
    }
    const epoch = 9 + attempts++
    return (await controller.call('storeSave', { params: { id: 'ls-1' }, body, epoch })).id
  }
  const lcm = async (...args: string[]) => {
    await api.plane.others().call('listSessions', { query: {} })
    return run(args, captured.shell)
  }
  return { ...captured, saved, lcm }
}

describe('save', () => {
  it('requests a save with a reason', async () => {
    const { lcm, api, out } = course()
    expect(await lcm('save', 'session', 'ls-1', '--reason', 'before the break')).toBe(0)
    expect(api.requests().at(-1)).toBe('POST /lablet-sessions/ls-1/save')
    expect(api.bodies()).toEqual([{ reason: 'before the break' }])
    expect(out()).toBe('session ls-1 will be saved; its lab keeps running\n')
  })

  it('waits until it is saved', async () => {
    const { lcm, api, saved, out, err } = course()
    const done = lcm('save', 'session', 'ls-1', '--wait')
    await api.stream(1)
    const id = await saved()
    expect(await done).toBe(0)
    expect(err()).toContain('session ls-1 is RUNNING: its lab is being saved')
    expect(out()).toBe(`session ls-1 saved as ${id} after 1s: the lab was saved without the latest changes of 1 node\n`)
  })

  it('exits with 1 when the attempt fails, or the session ends first', async () => {
    const failing = course()
    const done = failing.lcm('save', 'session', 'ls-1', '--wait')
    await failing.api.stream(1)
    const outcome = reason('save_failed', { error: 'no answer' })
    const tried_at = toInstant(START_MS)
    failing.api.sessions.change('ls-1', {
      save: { requested_at: null, requested_by: null, tried_at, outcome, save_id: null },
    })
    expect(await done).toBe(1)
    expect(failing.err()).toContain('session ls-1 was not saved: the lab could not be saved: no answer')
    const ending = course()
    const waiting = ending.lcm('save', 'session', 'ls-1', '--wait')
    await ending.api.stream(1)
    ending.api.sessions.change('ls-1', { status: 'STOPPING' })
    expect(await waiting).toBe(1)
    expect(ending.err()).toContain('session ls-1 is STOPPING and was not saved')
  })

  it('exits with 3 for an unknown session', async () => {
    expect(await course().lcm('save', 'session', 'ls-2')).toBe(3)
  })
})

describe('saves', () => {
  it('are listed, also those of one session', async () => {
    const { lcm, saved, out, err } = course()
    const id = await saved()
    expect(await lcm('get', 'saves')).toBe(0)
    expect(out()).toBe(
      [
        'ID                 SESSION   DEFINITION          OWNER   CAUSE     SAVED                                     SIZE    AGE',
        `${id}   ls-1      two-routers 1.0.0   Ann     request   1 of 2 nodes; r3: its console is in use   1 KiB   0s`,
        '',
      ].join('\n'),
    )
    expect(await lcm('get', 'saves', '--session', 'ls-2')).toBe(0)
    expect(err()).toContain('no saves found')
    expect(await lcm('get', 'save', id, '-o', 'name')).toBe(0)
    expect(await lcm('get', 'save', 'sv-9')).toBe(3)
  })

  it('are described with the nodes that were skipped', async () => {
    const { lcm, saved, out } = course()
    const id = await saved()
    expect(await lcm('describe', 'save', id)).toBe(0)
    expect(out().split('\n')).toEqual([
      `two-routers 1.0.0  ${id}`,
      '  session    ls-1',
      '  owner      Ann',
      '  cause      request',
      '  size       1 KiB',
      '  created    0s ago',
      '',
      'Nodes',
      '  NODE   OUTCOME   REASON',
      '  r1     saved     -',
      '  r3     skipped   its console is in use',
      '',
    ])
  })

  it('are part of the session that they belong to', async () => {
    const { lcm, saved, out } = course()
    await saved()
    expect(await lcm('describe', 'session', 'ls-1')).toBe(0)
    expect(out()).toContain('  saved      saved 0s ago, 1 of 2 nodes; r3: its console is in use\n')
    expect(await lcm('why', 'session', 'ls-1')).toBe(0)
    expect(out()).toContain('Saved work\n  saved 0s ago, 1 of 2 nodes; r3: its console is in use\n')
  })

  it('are downloaded as CML exported them', async () => {
    const { lcm, saved, out } = course()
    const id = await saved()
    expect(await lcm('download', 'save', id)).toBe(0)
    expect(out()).toBe(TOPOLOGY)
    const file = join(folder, 'lab.yaml')
    expect(await lcm('download', 'save', id, '-f', file)).toBe(0)
    expect(await readFile(file, 'utf8')).toBe(TOPOLOGY)
    expect(await lcm('download', 'save', id, '-f', file)).toBe(4)
    expect(await lcm('download', 'save', id, '-f', file, '--force')).toBe(0)
  })

  it('are deleted', async () => {
    const { lcm, saved, out } = course()
    const id = await saved()
    expect(await lcm('delete', 'save', id)).toBe(0)
    expect(out()).toBe(`save ${id} deleted\n`)
    expect(await lcm('delete', 'save', id)).toBe(3)
  })

  it('are continued in a new session', async () => {
    const { lcm, api, saved, out, err } = course()
    const id = await saved()
    expect(await lcm('book', '--resume', id)).toBe(0)
    expect(api.bodies().at(-1)).toEqual({ resume_save: id })
    expect(out()).toContain('of two-routers 1.0.0 booked')
    expect((await api.sessions.all()).map(({ restore_from }) => restore_from)).toContain(id)
    expect(await lcm('book')).toBe(2)
    expect(await lcm('book', 'two-routers', '--resume', id)).toBe(2)
    expect(err()).toContain(`${id} has its own definition`)
    expect(await lcm('__complete', '--', 'book', '--resume', '')).toBe(0)
    expect(out()).toContain(`\n${id}\n`)
  })
})

it('says what to do when a save can not be used or deleted', async () => {
  const { lcm, saved, err, api } = course()
  expect(await lcm('book', '--resume', 'sv-none')).toBe(1)
  expect(err()).toBe('error: there is no save sv-none: list saves with `lcm get saves`\n')
  const id = await saved()
  expect(await lcm('book', '--resume', id)).toBe(0)
  expect(await lcm('delete', 'save', id)).toBe(4)
  expect(err()).toMatch(/was booked from sv-\w+ and is not over: cancel that session, or wait for its end\n$/)
  api.definitions.put(aDefinition({ saves_enabled: false }))
  expect(await lcm('save', 'session', 'ls-1')).toBe(4)
  expect(err()).toMatch(/: ask the author of the definition to set `saves_enabled`\n$/)
})
