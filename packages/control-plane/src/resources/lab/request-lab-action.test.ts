import { beforeEach, describe, expect, it } from 'vitest'
import { aCourse, type Course } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
let id: string
beforeEach(async () => {
  course = aCourse()
  const worker = await course.serving()
  await course.scan(worker.id, [{ lab_id: 'a' }])
  id = (await course.send('GET', 'lab-records')).json.items[0].id
})

const ask = (verb: string, key: string, headers: Record<string, string> = {}) =>
  course.send('POST', `lab-records/${id}/${verb}`, { json: {}, headers: { 'idempotency-key': key, ...headers } })
const done = () => course.reportLab(id, { pending_action: null })
const audited = async () => (await course.journal('audit', `lab_record:${id}`)).length

describe('a requested lab action', () => {
  it('is not repeated by the same request, also when its response was lost', async () => {
    const { version } = await course.lab(id)
    const headers = { 'if-match': `"${version}"` }
    course.store.interrupt({ kind: 'idempotent_request', write: 'replace', when: 'before', run: crash })
    expect((await ask('stop', 'k', headers)).status).toBe(503)
    expect((await course.lab(id)).pending_action).toMatchObject({ action: 'stop' })
    await done()
    await course.clock.advance(30_000)
    expect(await ask('stop', 'k', headers)).toMatchObject({ status: 202, json: { pending_action: null } })
    expect(await audited()).toBe(1)
  })

  it('is repeated by another request', async () => {
    await ask('stop', 'k')
    await done()
    expect((await ask('stop', 'another')).json.pending_action).toMatchObject({ action: 'stop' })
    expect(await audited()).toBe(2)
    expect((await course.lab(id)).applied_keys).toHaveLength(2)
  })
})
