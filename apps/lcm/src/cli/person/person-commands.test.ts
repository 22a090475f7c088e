import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aTemplate } from '../testing/resource-builders.ts'

function admin() {
  const captured = capturedShell()
  const lcm = (...args: string[]) => run(args, captured.shell)
  const people = () => captured.api.plane.all('people')
  return { ...captured, lcm, people }
}
type Admin = ReturnType<typeof admin>

async function withJane(): Promise<Admin & { readonly id: string }> {
  const made = admin()
  expect(await made.lcm('create', 'person', 'Jane Doe', '--role', 'user', '--email', 'jane@example.org')).toBe(0)
  const [jane] = await made.people()
  return { ...made, id: jane?.id ?? '' }
}

it('creates a person and says how to invite one', async () => {
  const { outLines, err, id, lcm } = await withJane()
  expect(outLines()).toEqual([`person Jane Doe (${id}) created`])
  expect(err()).toBe("Send a login link with: lcm invite 'Jane Doe'\n")
  expect(await lcm('get', 'people')).toBe(0)
  expect(outLines().slice(1)).toEqual([
    'NAME       ID                 ROLE   EMAIL              GROUPS   SOURCE     AGE',
    `Jane Doe   ${id}   user   jane@example.org   -        operator   0s`,
  ])
})

it('finds a person by id, name or email address', async () => {
  const { lcm, err, id, outLines } = await withJane()
  for (const wanted of [id, 'Jane Doe', 'jane@example.org'])
    expect(await lcm('get', 'person', wanted, '-o', 'name'), wanted).toBe(0)
  expect(outLines().slice(1)).toEqual(['Jane Doe', 'Jane Doe', 'Jane Doe'])
  expect(await lcm('get', 'person', 'none')).toBe(3)
  expect(err()).toContain('person none not found: list all with `lcm get people`')
  await lcm('create', 'person', 'Jane Doe', '--role', 'author')
  expect(await lcm('get', 'person', 'Jane Doe')).toBe(4)
  expect(err()).toContain('2 people are named Jane Doe')
})

it('edits the given fields only', async () => {
  const { lcm, people, out, err } = await withJane()
  expect(await lcm('edit', 'person', 'Jane Doe', '--role', 'author', '--group', 'a', 'b')).toBe(0)
  expect(await people()).toMatchObject([{ role: 'author', groups: ['a', 'b'], email: 'jane@example.org' }])
  expect(await lcm('edit', 'person', 'Jane Doe', '--email', '', '--group', '')).toBe(0)
  expect(await people()).toMatchObject([{ role: 'author', groups: [], email: null }])
  expect(await lcm('edit', 'person', 'Jane Doe', '--role', 'author')).toBe(0)
  expect(out()).toMatch(/unchanged\n$/)
  expect(await lcm('edit', 'person', 'Jane Doe')).toBe(2)
  expect(err()).toContain('nothing to change: use --name, --role, --email or --group')
})

it('prints only a login link on standard output', async () => {
  const { lcm, outLines, errLines } = await withJane()
  expect(await lcm('invite', 'Jane Doe')).toBe(0)
  expect(outLines().at(-1)).toMatch(/^http:\/\/127\.0\.0\.1:8080\/#\/sign-in\?code=[\w-]{20,}$/)
  expect(errLines().at(-1)).toBe(
    'Send it to Jane Doe only: anyone who opens it within 10m is signed in as this person. It works once.',
  )
})

it('creates a token for a person, and says how to replace one', async () => {
  const { lcm, api, id, err } = await withJane()
  expect(await lcm('create', 'token', '--name', 'laptop', '--role', 'user', '--person', 'Jane Doe')).toBe(0)
  expect(await api.plane.all('tokens')).toMatchObject([{ name: 'laptop', person_id: id }])
  expect(err()).not.toContain('Replace it')
  expect(await lcm('create', 'token', '--name', 'ci', '--role', 'user')).toBe(0)
  expect(err()).toMatch(/Replace it, and keep its sessions, with: lcm create token --person token:tk-\w{13} \.\.\./)
  expect(await lcm('create', 'token', '--name', 'x', '--role', 'admin', '--person', 'Jane Doe')).toBe(1)
  expect(err()).toContain('Jane Doe has the role user, so no token with the role admin')
})

it('revokes all access of a person', async () => {
  const { lcm, api, id, outLines } = await withJane()
  await lcm('create', 'token', '--name', 'laptop', '--role', 'user', '--person', id)
  expect(await lcm('revoke', 'Jane Doe')).toBe(0)
  expect(outLines().at(-1)).toBe(`all tokens and sign-ins of Jane Doe (${id}) ended`)
  expect(await api.plane.all('tokens')).toEqual([])
})

it('says that the administrator token outlives a revocation', async () => {
  const { lcm, api, err, id } = await withJane()
  const [jane] = await api.plane.all('people')
  if (jane) await api.plane.put('people', { ...jane, source: 'built-in', version: jane.version + 1 })
  expect(await lcm('revoke', id)).toBe(0)
  expect(err()).toContain('The administrator token that LCM starts with still works.')
})

it('merges a person into another', async () => {
  const { lcm, api, people, outLines } = await withJane()
  await lcm('create', 'token', '--name', 'jane', '--role', 'user')
  const [token] = await api.plane.all('tokens')
  const [jane] = await people()
  expect(await lcm('merge', 'person', 'jane', '--into', 'Jane Doe')).toBe(0)
  expect(outLines().at(-1)).toBe(`person jane (${token?.person_id}) merged into Jane Doe (${jane?.id})`)
  expect(await api.plane.all('tokens')).toMatchObject([{ person_id: jane?.id }])
  expect(await lcm('get', 'people')).toBe(0)
  expect(outLines().at(-1)).toContain(`-> ${jane?.id}`)
})

it.each(['delete', 'remove'])('%s refuses a person with open sessions, and says what to do', async verb => {
  const { lcm, api, id, err, outLines } = await withJane()
  api.definitions.put(aDefinition())
  api.putTemplate(aTemplate())
  await lcm('create', 'token', '--name', 'laptop', '--role', 'user', '--person', id)
  const secret = outLines().at(-1) ?? ''
  expect(await lcm('--token', secret, 'book', aDefinition().name)).toBe(0)
  expect(await lcm(verb, 'person', 'Jane Doe')).toBe(4)
  const advice = /Jane Doe has 1 open session: ls-\w{13}\. Cancel it with `lcm cancel session`, or give it to another/
  expect(err()).toMatch(advice)
  const [session] = await api.sessions.all()
  api.sessions.change(session?.id ?? '', { status: 'TERMINATED' })
  expect(await lcm(verb, 'person', 'Jane Doe')).toBe(0)
  expect(outLines().at(-1)).toBe(`person Jane Doe (${id}) removed`)
})
