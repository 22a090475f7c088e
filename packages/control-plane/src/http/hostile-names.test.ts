import { aControlPlane, METAL, storedDefinition } from '@lcm/testkit/a-control-plane'
import { aDefinition, aSession, aWorker } from '@lcm/testkit/test-data-builders'
import { beforeEach, describe, expect, it } from 'vitest'
import { TOPOLOGY } from '../testing/bookable-fleet.ts'

/** A terminal shows it as `invoice exe.pdf` or clears its screen. */
const OVERRIDE = 'invoice \u202efdp.exe'
const HOSTILE = [
  ['an override of direction', OVERRIDE],
  ['an isolate', 'a\u2066b'],
  ['a control sequence of C1', 'a\u009b2Jb'],
]
const PERSIAN = 'می\u200cخواهم'

let plane: ReturnType<typeof aControlPlane>
beforeEach(async () => {
  plane = aControlPlane()
  await plane.send('POST', 'worker-templates', { json: METAL })
  await plane.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })
})

/** Writes with a field on one line, and the path of that field in a refusal. */
const FIELDS: readonly [path: string, method: string, url: string, body: (text: string) => object][] = [
  ['body.name', 'POST', 'workers', name => ({ template_name: 'metal', name })],
  ['body.labels', 'POST', 'workers', note => ({ template_name: 'metal', labels: { note } })],
  ['body.tags.note', 'POST', 'workers', note => ({ template_name: 'metal', tags: { note } })],
  ['body.license.product', 'POST', 'workers', product => ({ template_name: 'metal', license: { product } })],
  ['body.name', 'POST', 'tokens', name => ({ name, role: 'user' })],
  ['body.name', 'POST', 'people', name => ({ name, role: 'user' })],
  [
    'body.email',
    'POST',
    'people',
    text => ({ name: 'Jane', role: 'user', email: `${text.replaceAll(' ', '')}@example.org` }),
  ],
  ['body.groups.0', 'POST', 'people', group => ({ name: 'Jane', role: 'user', groups: [group] })],
  ['body.reservation_id', 'POST', 'lablet-sessions', reservation_id => ({ definition: 'bgp', reservation_id })],
  ['body.title', 'POST', 'lablet-definitions', title => ({ name: 'ospf', topology: TOPOLOGY, title })],
]

describe.each(FIELDS)('%s of %s %s', (path, method, url, body) => {
  it.each(HOSTILE)('refuses %s', async (_name, text = '') => {
    const answer = await plane.send(method, url, { json: body(text) })
    expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed', errors: [{ path }] } })
    expect(answer.json.detail).toMatch(/no control characters/)
  })

  it('may have the joiners that scripts need', async () => {
    expect((await plane.send(method, url, { json: body(PERSIAN) })).status).toBe(201)
  })
})

it('shows what is stored with such characters, and lets it be renamed', async () => {
  const name = OVERRIDE
  await plane.put('workers', aWorker({ id: 'w-old', name, labels: { note: name } }))
  await plane.put('definitions', storedDefinition(aDefinition({ id: 'ld-old', title: name })))
  await plane.put('sessions', aSession({ id: 'ls-old', owner_name: name, reservation_id: name }))
  const found = ['workers/w-old', 'lablet-definitions/ld-old', 'lablet-sessions/ls-old']
  for (const path of found) expect(await plane.send('GET', path)).toMatchObject({ status: 200 })
  expect((await plane.send('GET', 'workers')).json.items).toMatchObject([{ name }])
  const renamed = await plane.send('PATCH', 'workers/w-old', { json: { name: 'invoice' } })
  expect(renamed).toMatchObject({ status: 200, json: { name: 'invoice', labels: { note: name } } })
})
