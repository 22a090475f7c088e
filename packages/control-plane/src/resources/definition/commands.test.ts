import { aDefinition } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from '../../resources.ts'
import { aCourse, type Course, TOPOLOGY } from '../../testing/bookable-fleet.ts'
import { crash } from '../../testing/interruptible-store.ts'
import { givenOf } from './definition-content.ts'

let course: Course
beforeEach(() => {
  course = aCourse()
})

const put = (id: string, json: object) => course.send('PUT', `lablet-definitions/${id}`, { json })
const get = async (id: string) => (await course.send('GET', `lablet-definitions/${id}`)).json
const all = async () => (await course.send('GET', 'lablet-definitions')).json.items
const act = (id: string, verb: string) => course.send('POST', `lablet-definitions/${id}/${verb}`)
const versions = async () =>
  (await all()).map((each: Record<string, string>) => `${each.definition_version} ${each.status}`).sort()

describe('a definition with an inline topology', () => {
  it('can be booked at once, with the values of its topology', async () => {
    const definition = await course.define()
    expect(definition).toMatchObject({
      name: 'bgp',
      definition_version: '1.0.0',
      status: 'ACTIVE',
      topology: TOPOLOGY,
      needs: { cpu_cores: 2, memory_gb: 2, storage_gb: 2, node_count: 2 },
      node_definitions_required: ['iol-xe'],
      port_template: [{ name: 'r1_serial', node: 'r1', protocol: 'serial', inside: 0 }],
      created_by: 'admin',
    })
    expect(definition).not.toHaveProperty('given')
    expect(definition).not.toHaveProperty('fence')
    const [listed] = await all()
    expect(listed).not.toHaveProperty('topology')
    expect(listed.id).toBe(definition.id)
  })

  it('keeps the needs and ports that its author sets', async () => {
    const needs = { cpu_cores: 9, memory_gb: 9, storage_gb: 9, node_count: 9 }
    expect(await course.define({ needs, port_template: [] })).toMatchObject({ needs, port_template: [] })
  })

  it('publishes all consoles if its topology has no tags for ports, unless its author wants no ports', async () => {
    const topology = TOPOLOGY.replaceAll(/tags: \[.*\]/g, 'tags: []')
    const { id, port_template } = await course.define({ topology })
    expect(port_template.map(({ name }: { name: string }) => name)).toEqual(['r1_serial', 'r2_serial'])
    expect((await put(id, { port_template: [] })).json.port_template).toEqual([])
  })

  it('is refused with the line of the error', async () => {
    const topology = TOPOLOGY.replace('label: r2', 'label: r1')
    const answer = await course.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology } })
    expect(answer).toMatchObject({
      status: 422,
      json: {
        code: 'topology_invalid',
        detail: 'line 12: nodes.1: label r1 is that of node 0 too',
        errors: [{ path: 'body.topology.nodes.1', line: 12 }],
      },
    })
    expect(await all()).toEqual([])
  })

  it.each([
    [{ name: 'bgp' }, 'topology_invalid'],
    [{ name: 'bgp', topology: TOPOLOGY, source: 'https://example.org/x' }, 'validation_failed'],
    [{ name: 'bgp', source: 'https://u:p@example.org/x' }, 'validation_failed'],
    [{ name: 'Not A Name', topology: TOPOLOGY }, 'validation_failed'],
    [{ name: 'bgp', topology: `a${'\u0000'}b` }, 'validation_failed'],
  ])('%j is refused: %s', async (json, code) => {
    expect((await course.send('POST', 'lablet-definitions', { json })).json.code).toBe(code)
  })

  it('may have ports only of nodes in its lab', async () => {
    const port = { name: 'c', node: 'r1', protocol: 'serial' }
    const refused = await course.define({ port_template: [port, { ...port, name: 'd', node: 'r9' }] })
    expect(refused).toMatchObject({
      status: 422,
      code: 'port_node_unknown',
      detail: 'port_template: the lab has no node r9; it has r1, r2',
      errors: [{ path: 'body.port_template.1.node', message: 'the lab has no node r9; it has r1, r2' }],
    })
    const { id } = await course.define({ port_template: [port] })
    const renamed = await put(id, { topology: TOPOLOGY.replace('label: r1', 'label: core') })
    expect(renamed.json.detail).toContain('no node r1; it has core, r2')
  })

  it('has a unique name', async () => {
    await course.define()
    expect(await course.define()).toMatchObject({ code: 'already_exists' })
  })

  it('may have a topology of a million characters', async () => {
    const topology = `${TOPOLOGY}# ${'x'.repeat(1024 * 1024 - TOPOLOGY.length - 2)}`
    expect(await course.define({ topology })).toMatchObject({ status: 'ACTIVE' })
    expect(await course.define({ name: 'long', topology: `${topology}x` })).toMatchObject({ code: 'validation_failed' })
  })

  it('is created once when the request is repeated', async () => {
    const request = { headers: { 'idempotency-key': 'k' }, json: { name: 'bgp', topology: TOPOLOGY } }
    course.store.interrupt({ kind: 'definition', write: 'insert', when: 'after', run: crash })
    expect((await course.send('POST', 'lablet-definitions', request)).status).toBe(503)
    await course.clock.advance(31_000)
    expect((await course.send('POST', 'lablet-definitions', request)).status).toBe(201)
    expect(await all()).toHaveLength(1)
  })
})

describe('an ACTIVE definition', () => {
  it('is immutable: a PUT creates the next version, which replaces it', async () => {
    const first = await course.define({ lab_reuse: true, license_affinity: ['CML_Enterprise'] })
    const { json: second } = await put(first.id, { topology: TOPOLOGY, title: 'BGP', max_duration_minutes: 30 })
    expect(second).toMatchObject({ definition_version: '1.0.1', status: 'ACTIVE', replaces: first.id, title: 'BGP' })
    expect(await get(first.id)).toMatchObject({
      ...first,
      warnings: [],
      status: 'DEPRECATED',
      version: 2,
      updated_at: expect.any(String),
    })
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 ACTIVE'])
  })

  it('keeps fields that the update leaves out', async () => {
    const cml_version = { min: '2.8', max: '2.10' }
    const needs = { cpu_cores: 9, memory_gb: 9, storage_gb: 9, node_count: 2 }
    const all = { lab_reuse: true, boot_lead_minutes: 7, max_duration_minutes: 30, description: 'long', title: 'BGP' }
    const first = await course.define({ ...all, cml_version, needs, license_affinity: ['CML_Enterprise'] })
    const { json } = await put(first.id, { max_duration_minutes: 45 })
    const { topology, port_template } = first
    expect(json).toMatchObject({ ...all, cml_version, needs, topology, port_template, max_duration_minutes: 45 })
    expect(json).toMatchObject({ definition_version: '1.0.1', status: 'ACTIVE', source: 'inline' })
  })

  it('derives its needs from the next topology, unless its author set them', async () => {
    const { id } = await course.define()
    const { json } = await put(id, { topology: TOPOLOGY.replaceAll('ram: 1024', 'ram: 4096') })
    expect(json.needs.memory_gb).toBe(8)
  })

  it('takes the title of its lab, unless its author set one', async () => {
    expect((await course.define()).title).toBe('two routers')
    expect((await course.define({ name: 'other', title: 'Mine' })).title).toBe('Mine')
  })

  it('takes the title of its next lab, unless its author set one', async () => {
    const topology = TOPOLOGY.replace('two routers', 'quite another')
    const first = await course.define()
    const { json: longer } = await put(first.id, { max_duration_minutes: 30 })
    expect(longer.title).toBe('two routers')
    expect((await put(longer.id, { topology })).json.title).toBe('quite another')
    const definition = await course.define({ name: 'other', title: 'Mine' })
    const { json: next } = await put(definition.id, { topology })
    expect(next.title).toBe('Mine')
    expect((await put(next.id, { title: '' })).json.title).toBe('quite another')
  })

  it('requires a server version that supports everything in its lab', async () => {
    const topology = TOPOLOGY.replace('0.3.0', '0.3.1')
    expect((await course.define({ topology })).cml_version).toEqual({ min: '2.10', max: null })
  })

  it('supports older servers again when its next lab does, unless its author set the version', async () => {
    const topology = TOPOLOGY.replace('0.3.0', '0.3.1')
    const first = await course.define({ topology })
    const { json: kept } = await put(first.id, { title: 'BGP' })
    expect(kept.cml_version).toEqual({ min: '2.10', max: null })
    const { json } = await put(kept.id, { topology: TOPOLOGY })
    expect(json.cml_version).toEqual({ min: null, max: null })
    const definition = await course.define({ name: 'other', topology, cml_version: { min: '2.9', max: null } })
    const { json: next } = await put(definition.id, { topology: TOPOLOGY })
    expect(next.cml_version).toEqual({ min: '2.9', max: null })
    expect((await get(next.id)).given.cml_min).toBe(true)
  })

  it('that was stored without these fields keeps its title and minimum version', () => {
    const read = (title: string, min: string | null) => {
      const given = { needs: false, port_template: false }
      const definition = aDefinition({ title, cml_version: { min, max: null } })
      return givenOf(RESOURCES.definitions.parse({ ...definition, given, fence: {} }))
    }
    expect(read('BGP', '2.8')).toMatchObject({ title: true, cml_min: true })
    expect(read('', null)).toMatchObject({ title: false, cml_min: false })
  })

  it('gets no new version from an unchanged PUT', async () => {
    const { id } = await course.define()
    expect((await put(id, { topology: TOPOLOGY })).json).toMatchObject({ id, version: 1 })
    expect(await versions()).toEqual(['1.0.0 ACTIVE'])
  })

  it('gets one next version when the request is repeated', async () => {
    const { id } = await course.define()
    const { json: second } = await put(id, { topology: TOPOLOGY, title: 'BGP' })
    expect((await put(id, { topology: TOPOLOGY, title: 'BGP' })).json.id).toBe(second.id)
    expect((await put(id, { topology: TOPOLOGY, title: 'other' })).json.code).toBe('definition_deprecated')
  })

  it('that is updated twice at once gets one version, and the other update fails', async () => {
    const { id } = await course.define()
    const answers = await Promise.all([1, 2, 3].map(n => put(id, { topology: TOPOLOGY, title: `BGP ${n}` })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 ACTIVE'])
  })

  it.each(['reading it', 'booking', 'time'])('is deprecated after a crash between the two writes, by %s', async how => {
    const { id } = await course.define()
    course.store.interrupt({ kind: 'definition', write: 'insert', when: 'after', run: crash })
    expect((await put(id, { topology: TOPOLOGY, title: 'BGP' })).status).toBe(503)
    expect(await versions()).toEqual(['1.0.0 ACTIVE', '1.0.1 ACTIVE'])
    if (how === 'reading it') await get(id)
    if (how === 'booking') expect((await course.book()).definition.version).toBe('1.0.1')
    if (how === 'time') await course.tend()
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 ACTIVE'])
  })

  it('stays in use until the next version has its topology', async () => {
    const { id } = await course.define()
    const { json: second } = await put(id, { source: 'https://example.org/bgp.yaml' })
    expect(await versions()).toEqual(['1.0.0 ACTIVE', '1.0.1 PENDING_SYNC'])
    expect((await course.book()).definition.version).toBe('1.0.0')
    // Again: the pending version is changed in place.
    expect((await put(id, { source: 'https://example.org/other.yaml' })).json.id).toBe(second.id)
    await put(second.id, { topology: TOPOLOGY, title: 'BGP' })
    expect(await versions()).toEqual(['1.0.0 DEPRECATED', '1.0.1 ACTIVE'])
  })

  it('refuses a stale If-Match', async () => {
    const { id } = await course.define()
    const headers = { 'if-match': '"7"' }
    const answer = await course.send('PUT', `lablet-definitions/${id}`, {
      headers,
      json: { topology: TOPOLOGY, title: 'x' },
    })
    expect(answer.json.code).toBe('version_mismatch')
  })
})

describe('deleting', () => {
  it('removes a definition that no session uses', async () => {
    const { id } = await course.define()
    expect((await course.send('DELETE', `lablet-definitions/${id}`)).status).toBe(204)
    expect((await course.send('GET', `lablet-definitions/${id}`)).status).toBe(404)
  })

  it('is refused while an active session uses it', async () => {
    const session = await course.book()
    const { id } = session.definition
    expect((await course.send('DELETE', `lablet-definitions/${id}`)).json.code).toBe('definition_in_use')
    expect((await get(id)).status).toBe('ACTIVE')
    await course.send('DELETE', `lablet-sessions/${session.id}`)
    expect((await course.send('DELETE', `lablet-definitions/${id}`)).status).toBe(204)
  })

  it('does not name a session to an author who may not see it', async () => {
    const { id, definition } = await course.book({}, 'user')
    const detailFor = async (as: 'author' | 'admin') =>
      (await course.send('DELETE', `lablet-definitions/${definition.id}`, { as })).json.detail
    expect(await detailFor('admin')).toContain(id)
    expect(await detailFor('author')).not.toContain(id)
  })

  it.each(['before', 'after'] as const)(
    'leaves no session without its definition, also for one that is booked %s it closes',
    async when => {
      const { id } = await course.define()
      const booked: number[] = []
      const run = async () => {
        booked.push((await course.send('POST', 'lablet-sessions', { json: { definition: id } })).status)
      }
      course.store.interrupt({ kind: 'definition', write: 'replace', when, run })
      const deleted = await course.send('DELETE', `lablet-definitions/${id}`)
      expect([deleted.status, ...booked]).toEqual(when === 'before' ? [409, 201] : [204, 422])
    },
  )

  it('refuses a concurrent booking', async () => {
    const { id } = await course.define()
    const run = () => course.send('DELETE', `lablet-definitions/${id}`)
    course.store.interrupt({ kind: 'session', write: 'insert', when: 'before', run })
    const booked = await course.send('POST', 'lablet-sessions', { json: { definition: id } })
    expect(booked.json.code).toBe('definition_not_active')
    expect((await course.send('GET', 'lablet-sessions')).json.items).toEqual([])
  })
})

it('refuses to book or change a DEPRECATED one, and deprecating it again changes nothing', async () => {
  const { id } = await course.define()
  expect((await act(id, 'deprecate')).status).toBe(202)
  expect((await act(id, 'deprecate')).json).toMatchObject({ status: 'DEPRECATED', version: 2 })
  const booked = await course.send('POST', 'lablet-sessions', { json: { definition: 'bgp' } })
  expect(booked.json.code).toBe('definition_not_active')
  expect((await put(id, { topology: TOPOLOGY, title: 'x' })).json.code).toBe('definition_deprecated')
})
