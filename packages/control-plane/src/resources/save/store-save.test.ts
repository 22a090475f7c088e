import { gzipSync } from 'node:zlib'
import { toInstant } from '@lcm/domain/instant'
import { SAVE_BYTES_MAX, SAVED_TOPOLOGY_BYTES_MAX } from '@lcm/domain/save/save'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { beforeEach, describe, expect, it } from 'vitest'
import { crash } from '../../testing/interruptible-store.ts'
import { aSavedCourse, packed, type SavedCourse, workOf } from '../../testing/saved-course.ts'

const random = seededRandom(4)
let course: SavedCourse
let id: string
beforeEach(async () => {
  course = aSavedCourse()
  id = (await course.inSlot()).id
})
const request = (as: 'user' | 'operator' | 'author' = 'user') =>
  course.send('POST', `lablet-sessions/${id}/save`, { as, json: {} })
const saveState = async () => (await course.session(id)).save

describe('storing the work of a session', () => {
  it('makes a save that can be read as it was written', async () => {
    const save = await course.saved(id, workOf('one'))
    expect(save).toMatchObject({
      session_id: id,
      number: 1,
      owner: 'user',
      owner_name: 'user',
      definition: { name: 'bgp', version: '1.0.0' },
      cause: 'interval',
      size_bytes: gzipSync(workOf('one')).length,
      is_final: false,
      session_ended_at: null,
      nodes: [{ label: 'r1', outcome: 'saved', reason: null }],
    })
    expect(await course.workIn(save.id)).toBe(workOf('one'))
    expect(await saveState()).toMatchObject({ save_id: save.id, requested_at: null, outcome: { code: 'lab_saved' } })
  })

  it('shows neither its key nor the sessions that need it', async () => {
    const { id: saveId } = await course.saved(id, workOf('one'))
    const texts = [await course.send('GET', `saves/${saveId}`), await course.send('GET', 'saves')].map(
      ({ body }) => body,
    )
    for (const text of texts) expect(text).not.toMatch(/sealed|needed_by/)
  })

  it('keeps its content unreadable in the store', async () => {
    const save = await course.saved(id, workOf('secret'))
    const blob = await course.store.blobs.read(save.id)
    expect(blob?.length).toBeGreaterThan(save.size_bytes)
    expect(Buffer.from(blob ?? '').includes(gzipSync(workOf('secret')).subarray(10, 30))).toBe(false)
  })

  it('makes no save of content that has not changed', async () => {
    const first = await course.saved(id, workOf('one'))
    const again = await course.saved(id, workOf('one'))
    expect(again).toEqual(first)
    expect(await course.listed()).toHaveLength(1)
    expect(await saveState()).toMatchObject({ save_id: first.id, outcome: { code: 'save_unchanged' } })
    expect((await course.store.blobs.total()).count).toBe(1)
  })

  it('numbers the saves of the session, also when old content comes back', async () => {
    for (const name of ['one', 'two', 'one']) await course.saved(id, workOf(name))
    expect((await course.listed()).map(({ number }) => number)).toEqual([1, 2, 3])
  })

  it('marks the save at the end as final, even when nothing changed since the one before', async () => {
    const { id: saveId } = await course.saved(id, workOf('one'))
    const final = await course.saved(id, workOf('one'), { cause: 'end' })
    expect(final).toMatchObject({ id: saveId, number: 1, is_final: true })
  })

  it('counts the nodes that were skipped', async () => {
    const reason = { code: 'text', message: 'its console is in use', params: { text: 'its console is in use' } }
    await course.saved(id, workOf('one'), { nodes: [{ label: 'r1', outcome: 'skipped', reason }] })
    expect((await saveState()).outcome?.message).toBe('the lab was saved without the latest changes of 1 node')
  })

  it('refuses what is too large, and names the limit', async () => {
    const noise = random.bytes(SAVE_BYTES_MAX + 1)
    const large = await course.storeSave(id, '', { topology: gzipSync(noise).toString('base64') })
    expect(large.json).toMatchObject({
      code: 'save_too_large',
      status: 413,
      detail: 'the lab is too large to be saved: compressed it has 4.1 MiB, and a save may have 4 MiB',
      reason: { code: 'save_too_large' },
    })
    const bomb = await course.storeSave(id, '', { topology: packed('x'.repeat(SAVED_TOPOLOGY_BYTES_MAX + 1)) })
    expect(bomb.json).toMatchObject({
      code: 'save_too_large',
      detail: 'the lab is too large to be saved: its topology may have 16 MiB',
    })
    const damaged = await course.storeSave(id, '', { topology: 'AAAA' })
    expect(damaged.json).toMatchObject({ code: 'validation_failed', errors: [{ path: 'body.topology' }] })
    expect(await course.listed()).toEqual([])
    expect(await course.store.blobs.ids({ limit: 9 })).toEqual([])
  })

  it('takes the largest save', async () => {
    const topology = gzipSync(random.bytes(SAVE_BYTES_MAX - 2_000))
    const nodes = Array.from({ length: 500 }, (_, n) => ({ label: `r${n}`, outcome: 'saved', reason: null }))
    const { status, json } = await course.storeSave(id, '', { topology: topology.toString('base64'), nodes })
    expect([status, json.size_bytes]).toEqual([200, topology.length])
  })

  it('refuses sessions that are over, definitions without saves, and old leaders', async () => {
    const { definition } = await course.session(id)
    await course.editDocument('definitions', definition.id, { saves_enabled: false })
    expect((await course.storeSave(id, workOf('one'))).json.code).toBe('saves_disabled')
    await course.editDocument('definitions', definition.id, { saves_enabled: true })
    expect((await course.storeSave(id, workOf('one'), {}, 2)).status).toBe(200)
    expect((await course.storeSave(id, workOf('two'), {}, 1)).json.code).toBe('stale_leader')
    await course.editDocument('sessions', id, { status: 'ARCHIVED' })
    expect((await course.storeSave(id, workOf('two'), {}, 2)).json.code).toBe('session_over')
  })

  it('refuses an attempt that began before the newest save', async () => {
    const began_at = toInstant(course.clock.now())
    await course.saved(id, workOf('newer'))
    const { json } = await course.storeSave(id, workOf('older'), { began_at })
    expect([json.code, (await course.listed()).length]).toEqual(['version_mismatch', 1])
  })
})

describe('the save at the end', () => {
  it('is stored after a save that it interrupted, and which no later one replaces', async () => {
    const began_at = toInstant(course.clock.now())
    await course.saved(id, workOf('interrupted'))
    expect((await course.storeSave(id, workOf('last'), { cause: 'end', began_at })).json).toMatchObject({
      number: 2,
      is_final: true,
    })
    const { json } = await course.storeSave(id, workOf('late'), { began_at })
    expect([json.code, (await course.listed()).length]).toEqual(['version_mismatch', 2])
  })
})

describe('a repeated attempt', () => {
  const KINDS = [
    ['save', 'insert', 'before'],
    ['save', 'insert', 'after'],
    ['session', 'replace', 'before'],
    ['session', 'replace', 'after'],
  ] as const
  it.each(KINDS)('makes one save when the API crashed at %s %s: %s', async (kind, write, when) => {
    const began_at = toInstant(course.clock.now())
    course.store.interrupt({ kind, write, when, run: crash })
    expect((await course.storeSave(id, workOf('one'), { began_at })).status).toBe(503)
    await course.clock.advance(5_000)
    expect((await course.storeSave(id, workOf('one'), { began_at })).status).toBe(200)
    const [save, ...more] = await course.listed()
    expect(more).toEqual([])
    expect(await saveState()).toMatchObject({ save_id: save?.id, outcome: { code: 'lab_saved' } })
    expect(await course.workIn(save?.id ?? '')).toBe(workOf('one'))
  })

  it('after a lost answer changes nothing', async () => {
    const began_at = toInstant(course.clock.now())
    const first = await course.storeSave(id, workOf('one'), { began_at })
    const { version } = await course.session(id)
    await course.clock.advance(5_000)
    expect((await course.storeSave(id, workOf('one'), { began_at })).json).toEqual(first.json)
    expect((await course.session(id)).version).toBe(version)
  })

  it('at the same time makes one save', async () => {
    const began_at = toInstant(course.clock.now())
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => course.storeSave(id, workOf('one'), { began_at })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(await course.listed()).toHaveLength(1)
    expect((await course.store.blobs.ids({ limit: 9 })).length).toBe(1)
  })
})

describe('a request to save', () => {
  it('waits for the lablet-controller, and a second one changes nothing', async () => {
    const { status, json } = await request()
    expect([status, json.save]).toEqual([202, { ...json.save, requested_by: 'user', requested_at: json.updated_at }])
    expect((await request('operator')).json.save).toEqual(json.save)
  })

  it('is served by an attempt that began later', async () => {
    await request()
    await course.saved(id, workOf('one'))
    expect(await saveState()).toMatchObject({ requested_at: null, requested_by: null })
  })

  it('is served by an attempt that finds nothing changed', async () => {
    await course.saved(id, workOf('one'))
    await request()
    await course.saved(id, workOf('one'))
    expect((await saveState()).requested_at).toBeNull()
  })

  it('waits for the next attempt when one is under way', async () => {
    const began_at = toInstant(course.clock.now())
    await course.clock.advance(1_000)
    await request()
    await course.storeSave(id, workOf('one'), { began_at })
    expect(await saveState()).toMatchObject({ requested_by: 'user', outcome: { code: 'lab_saved' } })
  })

  it('is refused where there is nothing to save, and says so', async () => {
    const waiting = await course.book()
    const early = await course.send('POST', `lablet-sessions/${waiting.id}/save`, { as: 'user', json: {} })
    expect([early.status, early.json.detail]).toEqual([
      409,
      'it is PENDING, so there is no work to save yet. Try again when it is READY or RUNNING',
    ])
    await course.editDocument('definitions', waiting.definition.id, { saves_enabled: false })
    expect((await request()).json).toMatchObject({
      code: 'saves_disabled',
      detail: 'the author of bgp 1.0.0 switched saves off',
    })
    await course.editDocument('definitions', waiting.definition.id, { saves_enabled: true })
    await course.send('DELETE', `lablet-sessions/${id}`, { as: 'user' })
    expect((await request()).json).toMatchObject({ code: 'session_over', reason: { code: 'session_was_canceled' } })
    expect((await request('author')).status).toBe(404)
  })
})
