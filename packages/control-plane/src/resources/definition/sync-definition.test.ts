import { createHash } from 'node:crypto'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aCourse, type Course, TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'

let course: Course
let id: string
beforeEach(async () => {
  course = aCourse()
  id = (await course.define({ topology: undefined, source: 'https://example.org/bgp.yaml', lab_reuse: true })).id
})

const hash = (text: string) => createHash('sha256').update(text).digest('hex')
const fetched = (topology: string) => ({ result: { topology, package_sha256: hash(`zip ${topology}`) } })
const get = async (which = id) => (await course.send('GET', `lablet-definitions/${which}`)).json
const sync = (which = id) => course.send('POST', `lablet-definitions/${which}/sync`)
const put = (json: object) => course.send('PUT', `lablet-definitions/${id}`, { json })
/** A sync that starts now; its result is recorded later. */
async function fetching(which = id) {
  const { source, sync } = await get(which)
  return (json: object, epoch = 1) => {
    const body = { source, requested_at: sync.at, ...json }
    return course.asLablets(`lablet-definitions/${which}/sync-result`, body, epoch)
  }
}
const record = async (json: object, epoch = 1, which = id) => (await fetching(which))(json, epoch)
const OTHER = TOPOLOGY.replace('ram: 1024', 'ram: 4096')

describe('a definition with a remote topology', () => {
  it('is PENDING_SYNC until it is fetched, and can’t be booked', async () => {
    expect(await get()).toMatchObject({ status: 'PENDING_SYNC', topology: null, sync: { status: 'requested' } })
    const booked = await course.send('POST', 'lablet-sessions', { json: { definition: 'bgp' } })
    expect(booked.json.code).toBe('definition_not_active')
  })

  it('becomes ACTIVE after a valid fetch', async () => {
    expect((await record(fetched(TOPOLOGY))).json).toMatchObject({
      status: 'ACTIVE',
      needs: { memory_gb: 2 },
      port_template: [{ name: 'r1_serial' }],
      sync: { status: 'success', error: null, package_sha256: fetched(TOPOLOGY).result.package_sha256 },
    })
  })

  it.each([
    [{ result: { error: 'no answer' } }, 'no answer'],
    [fetched('lab: ['), /^line 1: /],
    [fetched(TOPOLOGY.replace('0.3.0', '7')), /^line 2: lab\.version: /],
  ])('stays PENDING_SYNC with the reason: %j', async (json, error) => {
    const answer = await record(json)
    expect(answer.json).toMatchObject({ status: 'PENDING_SYNC', sync: { status: 'failed', package_sha256: null } })
    expect(answer.json.sync.error).toMatch(error)
    expect((await sync()).json.sync).toMatchObject({ status: 'requested', error: null })
  })

  it('stays PENDING_SYNC while its author wants a port of an unknown node, and lists the known ones', async () => {
    await put({ port_template: [{ name: 'c', node: 'R1', protocol: 'serial' }] })
    const { sync: failed, status } = (await record(fetched(TOPOLOGY))).json
    expect(status).toBe('PENDING_SYNC')
    expect(failed).toMatchObject({
      status: 'failed',
      error: 'port_template: the lab has no node R1; it has r1, r2',
    })
    await put({ port_template: null })
    expect((await record(fetched(TOPOLOGY))).json.status).toBe('ACTIVE')
  })

  it('refuses a report of an older leader', async () => {
    await record({ result: { error: 'x' } }, 7)
    expect((await record(fetched(TOPOLOGY), 6)).json.code).toBe('stale_leader')
  })
})

describe('a superseded sync', () => {
  it.each([
    ['its topology', fetched(TOPOLOGY)],
    ['its error', { result: { error: 'it answered with status 404' } }],
  ])('by another address: %s is not recorded', async (_, json) => {
    const tell = await fetching()
    await put({ source: 'https://example.org/right.yaml' })
    const asEdited = await get()
    expect((await tell(json)).status).toBe(200)
    expect(await get()).toEqual(asEdited)
    expect(asEdited).toMatchObject({ status: 'PENDING_SYNC', sync: { status: 'requested' } })
  })

  it('by a topology keeps the text of the author', async () => {
    const tell = await fetching()
    await put({ topology: OTHER })
    expect((await tell(fetched(TOPOLOGY))).json).toMatchObject({ id, source: 'inline', topology: OTHER })
    expect((await course.send('GET', 'lablet-definitions')).json.items).toHaveLength(1)
  })

  it('changes nothing when it is superseded while it is recorded', async () => {
    const tell = await fetching()
    const definitions = course.store.collection(RESOURCES.definitions)
    course.store.interrupt({
      kind: 'definition',
      write: 'replace',
      when: 'before',
      // As another process writes: writers of one process wait for each other.
      async run() {
        const edited = RESOURCES.definitions.parse(await definitions.get(id))
        await definitions.replace({ ...edited, source: 'https://example.org/right.yaml', version: edited.version + 1 })
      },
    })
    await tell(fetched(TOPOLOGY))
    expect(await get()).toMatchObject({ status: 'PENDING_SYNC', topology: null, sync: { status: 'requested' } })
  })

  it('by a newer request for the same address waits for the newer result', async () => {
    const tell = await fetching()
    await tell({ result: { error: 'no answer' } })
    await sync()
    expect((await tell(fetched(TOPOLOGY))).json).toMatchObject({ topology: null, sync: { status: 'requested' } })
    expect((await record(fetched(OTHER))).json).toMatchObject({ topology: OTHER, status: 'ACTIVE' })
  })

  it('by the next version of an ACTIVE one creates no other version', async () => {
    await record(fetched(TOPOLOGY))
    await sync()
    const tell = await fetching()
    const { json: next } = await put({ topology: OTHER })
    await tell(fetched(TOPOLOGY.replace('ram: 1024', 'ram: 2048')))
    const { items } = (await course.send('GET', 'lablet-definitions?status=ACTIVE')).json
    expect(items.map((each: { id: string }) => each.id)).toEqual([next.id])
  })
})

describe('fetching an ACTIVE one again', () => {
  beforeEach(async () => {
    await record(fetched(TOPOLOGY))
    await sync()
  })

  it('changes nothing when the topology is the same', async () => {
    expect((await record(fetched(TOPOLOGY))).json).toMatchObject({ id, status: 'ACTIVE', sync: { status: 'success' } })
    expect((await course.send('GET', 'lablet-definitions')).json.items).toHaveLength(1)
  })

  it('changes nothing when the fetch fails', async () => {
    expect((await record({ result: { error: 'no answer' } })).json).toMatchObject({ id, status: 'ACTIVE' })
  })

  it('supports older servers again when the fetched lab does', async () => {
    const newer = (await record(fetched(TOPOLOGY.replace('0.3.0', '0.3.1')))).json
    expect(newer.cml_version.min).toBe('2.10')
    await sync(newer.id)
    const { json } = await record(fetched(OTHER), 1, newer.id)
    expect(json.cml_version.min).toBeNull()
  })

  it('creates the next version for a new topology, and keeps the other fields', async () => {
    const { json: next } = await record(fetched(OTHER))
    expect(next).toMatchObject({
      definition_version: '1.0.1',
      status: 'ACTIVE',
      replaces: id,
      lab_reuse: true,
      needs: { memory_gb: 5 },
      sync: { status: 'success', error: null, package_sha256: fetched(OTHER).result.package_sha256 },
    })
    expect(await get()).toMatchObject({ status: 'DEPRECATED', topology: TOPOLOGY, sync: { status: 'success' } })
  })

  it.each([
    ['insert', 0],
    ['replace', 0],
    ['replace', 1],
  ] as const)('makes one version also after a crash at %s %i', async (write, skip) => {
    course.store.interrupt({ kind: 'definition', write, when: 'after', skip, run: crash })
    const tell = await fetching()
    await tell(fetched(OTHER))
    await tell(fetched(OTHER))
    await course.tend()
    const { items } = (await course.send('GET', 'lablet-definitions')).json
    expect(items.map((each: { status: string }) => each.status).sort()).toEqual(['ACTIVE', 'DEPRECATED'])
  })
})

describe('an edit that is pending while the current version is synced again', () => {
  const CORRECTED = TOPOLOGY.replace('ram: 1024', 'ram: 2048')
  const versions = async () => {
    const { items } = (await course.send('GET', 'lablet-definitions')).json
    return items.map((each: LabletDefinition) => `${each.definition_version} ${each.status}`).sort()
  }
  let edit: LabletDefinition
  beforeEach(async () => {
    await record(fetched(TOPOLOGY))
    edit = (await put({ source: 'https://example.org/other.yaml' })).json
    await record({ result: { error: 'it answered with status 404' } }, 1, edit.id)
    await sync()
    await record(fetched(OTHER))
  })

  it('replaces the new version once it is valid', async () => {
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 PENDING_SYNC', '1.0.2 ACTIVE'])
    await sync(edit.id)
    await record(fetched(CORRECTED), 1, edit.id)
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 ACTIVE', '1.0.2 DEPRECATED'])
  })

  it('leaves one version when two became ACTIVE at once', async () => {
    const definitions = course.store.collection(RESOURCES.definitions)
    const stored = RESOURCES.definitions.parse(await definitions.get(edit.id))
    await definitions.replace({ ...stored, status: 'ACTIVE', replaces: id, version: stored.version + 1 })
    await course.tend()
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 DEPRECATED', '1.0.2 ACTIVE'])
  })
})

it('refuses to sync an inline one', async () => {
  const inline = await course.define({ name: 'inline' })
  const answer = await course.send('POST', `lablet-definitions/${inline.id}/sync`)
  expect(answer.json.code).toBe('source_inline')
})
