import { toInstant } from '@lcm/domain/instant'
import { describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aTemplate } from '../testing/resource-builders.ts'

const TOPOLOGY = `lab:
  version: 0.3.0
  title: one router
nodes:
  - { id: n0, label: r1, node_definition: iol-xe, ram: 1024, x: 0, y: 0 }
links: []
`

/** A class in which `user` has booked one session of two. */
async function aClass() {
  const captured = capturedShell()
  const { plane } = captured.api
  captured.api.putTemplate(aTemplate())
  await plane.set({ quota_user_live_sessions: 2, quota_user_horizon_days: 60, quota_user_core_hours_per_week: 1000 })
  const at = toInstant(plane.clock.now())
  const user = { id: 'user', name: 'Ursula', email: null, role: 'user', source: 'operator' } as const
  const state = { groups: [], version: 1, created_at: at, updated_at: at, signed_out_at: null, merging_into: null }
  await plane.put('people', { ...user, ...state })
  await plane.others().call('createDefinition', { body: { name: 'bgp', topology: TOPOLOGY } })
  const book = () => plane.others('user').call('createSession', { body: { definition: 'bgp', duration_minutes: 60 } })
  await book()
  const lcm = (...args: string[]) => run(args, captured.shell)
  const asUser = (...args: string[]) => run([...args, '--token', 'user'], captured.shell)
  return { ...captured, book, lcm, asUser }
}

describe('lcm get quotas', () => {
  it('shows what each person has used of each limit', async () => {
    const { lcm, out } = await aClass()
    expect(await lcm('get', 'quotas')).toBe(0)
    expect(out().replaceAll(/ +/g, ' ')).toBe(
      'NAME ID ROLE LIVE FUTURE HORIZON CORE-HOURS\nUrsula user user 1 of 2 0 of unlimited 60d 1 of 1000\n',
    )
  })

  it('shows one by name', async () => {
    const { lcm, out, err } = await aClass()
    expect(await lcm('get', 'quota', 'Ursula', '-o', 'json')).toBe(0)
    expect(JSON.parse(out())).toMatchObject({ id: 'user', limits: { live_sessions: 2 }, used: { live_sessions: 1 } })
    expect(await lcm('get', 'quota', 'nina')).toBe(3)
    expect(err()).toBe('error: quota nina not found: list all with `lcm get quotas`\n')
  })
})

it('lcm book says that the quota is used up, and what to do', async () => {
  const { asUser, book, err } = await aClass()
  await book()
  expect(await asUser('book', 'bgp')).toBe(4)
  expect(err()).toBe('error: You have 2 of 2 sessions open; cancel one or ask an operator\n')
})

describe('lcm set quota', () => {
  it('sets limits, and resets them', async () => {
    const { lcm, out, api } = await aClass()
    expect(await lcm('set', 'quota', 'user', '--live', '5', '--horizon', '90d', '--core-hours', 'unlimited')).toBe(0)
    expect(out()).toBe(
      'Ursula (user) may have 5 live and unlimited future sessions, book 90d ahead and use unlimited core-hours a week\n',
    )
    expect(api.bodies()).toEqual([{ live_sessions: 5, horizon_days: 90, core_hours_per_week: 'unlimited' }])
    expect(await lcm('set', 'quota', 'Ursula', '--default', '--live', '3', '-o', 'json')).toBe(0)
    expect(JSON.parse(out().split('\n').slice(1).join('\n')).given).toEqual({ live_sessions: 3 })
  })

  it('finds a person by name before the first booking', async () => {
    const { lcm, out, api } = await aClass()
    await api.plane.others().call('createPerson', { body: { name: 'Jane Doe', role: 'author' } })
    expect(await lcm('set', 'quota', 'Jane Doe', '--live', '5')).toBe(0)
    expect(out()).toMatch(/^Jane Doe \(pe-\w+\) may have 5 live and unlimited future sessions, book any time ahead/)
  })

  it('accepts the id of a person who has not signed in yet, but no unknown name', async () => {
    const { lcm, out, err } = await aClass()
    expect(await lcm('set', 'quota', 'oidc:jane', '--future', '20')).toBe(0)
    expect(out()).toContain('oidc:jane may have 2 live and 20 future sessions')
    expect(await lcm('set', 'quota', 'jane', '--future', '20')).toBe(3)
    expect(err()).toContain('person jane not found: list all with `lcm get people`')
  })

  it.each([
    [[], 'no limit given'],
    [['--live', 'many'], 'Give a whole number from 0 to 10000.'],
    [['--live', '-1'], '-1'],
    [['--horizon', '90'], 'Give whole days such as 90d, up to 3650d.'],
    [['--horizon', '36h'], 'Give whole days'],
    [['--horizon', '4000d'], 'Give whole days'],
  ])('refuses %j', async (options, message) => {
    const { lcm, err, api } = await aClass()
    expect(await lcm('set', 'quota', 'user', ...options)).toBe(2)
    expect(err()).toContain(message)
    expect(api.bodies()).toEqual([])
  })

  it('is refused to users', async () => {
    const { asUser, err } = await aClass()
    expect(await asUser('set', 'quota', 'user', '--live', '9')).toBe(5)
    expect(err()).toContain('ask an admin to do it')
  })
})
