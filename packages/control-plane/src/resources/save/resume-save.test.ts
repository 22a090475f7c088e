import { beforeEach, describe, expect, it } from 'vitest'
import { crash } from '../../testing/interruptible-store.ts'
import { aSavedCourse, type SavedCourse, workOf } from '../../testing/saved-course.ts'

let course: SavedCourse
let id: string
let save: string
beforeEach(async () => {
  course = aSavedCourse()
  id = (await course.inSlot()).id
  save = (await course.saved(id, workOf('one'))).id
})
const resume = (as: 'user' | 'author' | 'operator' = 'user', more: object = {}) =>
  course.send('POST', 'lablet-sessions', { as, json: { resume_save: save, ...more } })
const remove = (as: 'user' | 'author' | 'operator' = 'user') => course.send('DELETE', `saves/${save}`, { as })

describe('booking from a save', () => {
  it('restores it, with the version of the definition that it was made with', async () => {
    const [definition] = (await course.send('GET', 'lablet-definitions?name=bgp')).json.items
    await course.send('POST', `lablet-definitions/${definition.id}/deprecate`, { json: {} })
    const { status, json } = await resume()
    expect(status).toBe(201)
    expect(json).toMatchObject({
      restore_from: save,
      owner: 'user',
      definition: { id: definition.id, version: '1.0.0' },
    })
    const [created] = await course.journal('audit', `session:${json.id}`)
    expect(created?.body).toMatchObject({ action: 'create', after: { restore_from: save } })
  })

  it('is for its owner and for operators', async () => {
    expect((await resume('author')).json).toMatchObject({ code: 'save_not_found', status: 422 })
    expect((await resume('operator')).json).toMatchObject({ owner: 'operator', restore_from: save })
  })

  it('names either a definition or a save', async () => {
    for (const more of [{ definition: 'bgp' }, { resume_save: undefined }])
      expect((await resume('user', more)).json).toMatchObject({
        code: 'validation_failed',
        detail: 'body.definition: give definition or resume_save, not both',
      })
  })

  it('needs its definition, and says what to do without it', async () => {
    const [definition] = (await course.send('GET', 'lablet-definitions?name=bgp')).json.items
    await course.end(id)
    expect((await course.send('DELETE', `lablet-definitions/${definition.id}`)).status).toBe(204)
    expect((await resume()).json).toMatchObject({
      code: 'definition_not_found',
      detail: `${save} needs bgp 1.0.0, which was deleted. Download the save and create a definition from it`,
    })
  })

  it('finds the definition of its session, or is refused, when that is deleted at the same time', async () => {
    const [definition] = (await course.send('GET', 'lablet-definitions?name=bgp')).json.items
    await course.send('POST', `lablet-definitions/${definition.id}/deprecate`, { json: {} })
    await course.end(id)
    let removed = 0
    const run = async () => {
      removed = (await course.send('DELETE', `lablet-definitions/${definition.id}`)).status
    }
    for (const [when, expected] of [
      ['before', 422],
      ['after', 201],
    ] as const) {
      course.store.interrupt({ kind: 'session', write: 'insert', when, run })
      const { status, json } = await resume()
      expect([when, status, removed]).toEqual([when, expected, when === 'before' ? 204 : 409])
      if (status === 201) await course.send('DELETE', `lablet-sessions/${json.id}`, { as: 'user' })
      if (removed === 204) {
        expect(json.code).toBe('definition_not_active')
        await course.put('definitions', { ...definition, topology: null, given: {}, fence: {} })
      }
    }
  })

  it('keeps the save until that session has ended', async () => {
    const { json: session } = await resume()
    expect((await remove()).json).toMatchObject({
      code: 'save_in_use',
      detail: `session ${session.id} was booked from ${save} and is not over`,
    })
    for (const name of ['two', 'three', 'four', 'five']) await course.saved(id, workOf(name))
    await course.tend()
    expect((await course.listed()).map(({ number }) => number)).toEqual([1, 3, 4, 5])
    await course.send('DELETE', `lablet-sessions/${session.id}`, { as: 'user' })
    await course.tend()
    expect((await course.listed()).map(({ number }) => number)).toEqual([3, 4, 5])
  })

  it('never loses its save to a retention at the same time', async () => {
    for (const name of ['two', 'three', 'four']) await course.saved(id, workOf(name))
    // The retention has decided that the save goes; then it is booked.
    course.store.interrupt({ kind: 'save', write: 'remove', when: 'before', run: () => resume() })
    await course.tend(1_000)
    expect((await course.listed()).map(({ number }) => number)).toEqual([1, 2, 3, 4])
    // The booking is about to be inserted; then the retention runs.
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'before', run: () => course.maintain() })
    expect((await resume()).status).toBe(201)
    expect(await course.workIn(save)).toBe(workOf('one'))
  })

  it('that is deleted at the same time costs none of the quota', async () => {
    expect((await course.send('PATCH', 'quotas/user', { json: { live_sessions: 2 } })).status).toBe(200)
    course.store.interrupt({ kind: 'save', write: 'replace', when: 'before', run: () => remove() })
    expect((await resume()).json).toMatchObject({ code: 'save_not_found', status: 422 })
    expect((await course.send('POST', 'lablet-sessions', { as: 'user', json: { definition: 'bgp' } })).status).toBe(201)
  })

  it('again and again leaves no trace of the bookings that are over', async () => {
    for (let n = 0; n < 5; n += 1) {
      const { json: session } = await resume()
      await course.send('DELETE', `lablet-sessions/${session.id}`, { as: 'user' })
      await course.reportSession(session.id, { status: 'TERMINATED' })
      await course.clock.advance(61_000)
    }
    const { json: open } = await resume()
    expect((await course.all('saves')).map(({ needed_by }) => needed_by)).toMatchObject([[{ session_id: open.id }]])
  })

  it('that crashed before its session was stored keeps the save for a minute only', async () => {
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'before', run: crash })
    expect((await resume()).status).toBe(503)
    expect((await remove()).json.code).toBe('save_in_use')
    await course.clock.advance(61_000)
    expect((await remove()).status).toBe(204)
  })
})

describe('deleting a save', () => {
  it('removes its content, and the session no longer names it', async () => {
    const second = await course.saved(id, workOf('two'))
    const { status } = await course.send('DELETE', `saves/${second.id}`, { as: 'user' })
    expect(status).toBe(204)
    expect((await course.session(id)).save.save_id).toBe(save)
    expect(await course.store.blobs.ids({ limit: 9 })).toEqual([save])
    expect((await course.send('GET', `saves/${second.id}/topology`, { as: 'user' })).status).toBe(404)
    const [removed] = await course.journal('audit', `save:${second.id}`)
    expect(removed?.body).toMatchObject({ action: 'delete', before: { session_id: id, owner: 'user' } })
    await remove()
    expect((await course.session(id)).save.save_id).toBeNull()
  })

  it('is not for other people', async () => {
    expect((await remove('author')).status).toBe(404)
    expect((await remove('operator')).status).toBe(204)
  })

  it('does not count on another version than the caller saw', async () => {
    const stale = { as: 'user', headers: { 'if-match': '"9"' } } as const
    expect((await course.send('DELETE', `saves/${save}`, stale)).json.code).toBe('version_mismatch')
  })
})

describe('events of saves', () => {
  it('go to the owner and to operators, also that a save is gone', async () => {
    const streams = await Promise.all(['user', 'author', 'operator'].map(token => course.follow('types=save', token)))
    const [own, foreign, operators] = streams
    const { id: second } = await course.saved(id, workOf('two'))
    await course.send('DELETE', `saves/${second}`)
    await course.clock.advance(1_000)
    const types = async (stream = own) =>
      ((await stream?.seen()) ?? []).map(({ type }) => type).filter(type => type !== 'heartbeat')
    expect(await types(own)).toEqual(['save.created', 'save.deleted'])
    expect(await types(operators)).toEqual(['save.created', 'save.deleted'])
    expect(await types(foreign)).toEqual([])
    await Promise.all(streams.map(stream => stream.stop()))
  })

  it('have no content', async () => {
    const stream = await course.follow('types=save', 'user')
    await course.saved(id, workOf('two'))
    await course.clock.advance(1_000)
    expect(stream.texts.join('')).not.toMatch(/hostname|sealed_key/)
    await stream.stop()
  })
})

describe('reading the work of others', () => {
  it('is for operators and controllers of labs, and operators are recorded', async () => {
    const read = (as: 'user' | 'author' | 'operator') => course.send('GET', `saves/${save}/topology`, { as })
    expect((await read('user')).status).toBe(200)
    expect(await course.journal('audit', `save:${save}`)).toEqual([])
    expect((await read('author')).status).toBe(404)
    expect((await read('operator')).json.topology).toBe(workOf('one'))
    const [entry] = await course.journal('audit', `save:${save}`)
    expect(entry?.body).toMatchObject({
      actor: { id: 'operator' },
      action: 'read',
      after: { owner: 'user', session_id: id },
    })
    const as = (service: 'lablet-controller' | 'resource-scheduler') =>
      course.send('GET', `saves/${save}/topology`, { headers: course.asService(service) })
    expect((await as('lablet-controller')).json.topology).toBe(workOf('one'))
    expect((await as('resource-scheduler')).status).toBe(403)
    expect(await course.journal('audit', `save:${save}`)).toHaveLength(1)
  })

  it('shows in no list of another user', async () => {
    const ids = async (query: string, as: 'user' | 'author') =>
      (await course.send('GET', `saves?${query}`, { as })).json.items.map((each: { id: string }) => each.id)
    expect(await ids('', 'user')).toEqual([save])
    expect(await ids(`session_id=${id}`, 'user')).toEqual([save])
    expect(await ids('definition=bgp', 'user')).toEqual([save])
    expect(await ids('definition=ospf', 'user')).toEqual([])
    for (const query of ['', `session_id=${id}`, 'owner=user']) expect(await ids(query, 'author')).toEqual([])
  })
})
