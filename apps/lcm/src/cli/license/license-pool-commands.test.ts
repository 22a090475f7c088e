import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aTemplate } from '../testing/resource-builders.ts'

const folder = mkdtempSync(join(tmpdir(), 'lcm-pools-'))
const fileOf = (name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
const TOKEN_FILE = fileOf('token.txt', 'pool-token\n')

let shell: ReturnType<typeof capturedShell>
beforeEach(() => {
  shell = capturedShell()
  shell.api.putTemplate(aTemplate({ name: 'metal', license_product: 'CML_Enterprise' }))
})
const lcm = (...args: string[]) => run(args, shell.shell)
const create = (seats: number) =>
  lcm('create', 'license-pool', 'CML_Enterprise', '--seats', String(seats), '--token-file', TOKEN_FILE)
const worker = (name: string) => lcm('create', 'worker', '--template', 'metal', '--name', name)

describe('a license pool', () => {
  it('is created with a token from a file, which is never printed', async () => {
    expect(await create(2)).toBe(0)
    expect(shell.api.bodies()).toEqual([{ product: 'CML_Enterprise', seats: 2, token: 'pool-token' }])
    expect(await lcm('get', 'license-pool', 'CML_Enterprise', '-o', 'yaml')).toBe(0)
    expect(shell.outLines()[0]).toBe('license pool CML_Enterprise created: 2 of 2 seats free')
    expect(shell.outLines().join()).not.toContain('pool-token')
  })

  it('is listed with its seats and who holds them', async () => {
    await create(1)
    await worker('one')
    await worker('two')
    expect(await lcm('get', 'licenses')).toBe(0)
    expect(shell.outLines().slice(-2)).toEqual([
      'PRODUCT          SEATS   FREE   LEAKED   WAITING   HELD BY',
      'CML_Enterprise       1      0        0         1   one',
    ])
  })

  it('is described with the workers that hold seats and those that wait', async () => {
    await create(1)
    await worker('one')
    await worker('two')
    expect(await lcm('describe', 'license-pool', 'CML_Enterprise')).toBe(0)
    const text = shell.outLines().join('\n')
    expect(text).toContain('1, 0 free')
    expect(text).toMatch(/one +w-\S+ +0s/)
    expect(text).toContain('1 worker without a seat: add seats with `lcm edit license-pool CML_Enterprise --seats 2`')
  })

  it('is changed, and keeps its token unless another is given', async () => {
    await create(1)
    expect(await lcm('edit', 'license-pool', 'CML_Enterprise', '--seats', '3')).toBe(0)
    expect(await lcm('edit', 'license-pool', 'CML_Enterprise', '--token-file', TOKEN_FILE)).toBe(0)
    expect(shell.api.bodies().slice(1)).toEqual([{ seats: 3 }, { seats: 3, token: 'pool-token' }])
    expect(shell.outLines().slice(1)).toEqual([
      'license pool CML_Enterprise changed: 3 of 3 seats free',
      'license pool CML_Enterprise unchanged: 3 of 3 seats free',
    ])
    expect(await lcm('edit', 'license-pool', 'CML_Enterprise')).toBe(2)
  })

  it('is deleted once no seat is in use', async () => {
    await create(1)
    await worker('one')
    expect(await lcm('delete', 'license-pool', 'CML_Enterprise')).toBe(4)
    expect(shell.err()).toContain('1 seat of CML_Enterprise is in use: one')
    expect(await lcm('delete', 'license-pool', 'none')).toBe(3)
    await lcm('create', 'license-pool', 'CML_Personal', '--seats', '1', '--token-file', TOKEN_FILE)
    expect(await lcm('delete', 'license-pool', 'CML_Personal')).toBe(0)
    expect(shell.outLines().at(-1)).toBe('license pool CML_Personal deleted')
  })

  it.each(['', 'two words\n'])('refuses the token %j', async text => {
    const file = fileOf('bad.txt', text)
    expect(await lcm('create', 'license-pool', 'CML_Enterprise', '--seats', '1', '--token-file', file)).toBe(2)
  })

  it('is completed by its product', async () => {
    await create(1)
    expect(await lcm('__complete', '--', 'describe', 'license-pool', '')).toBe(0)
    expect(shell.outLines().at(-1)).toBe('CML_Enterprise')
  })
})

describe('a document of a license pool', () => {
  it('is applied with its token in a file beside it', async () => {
    const file = fileOf('pool.yaml', 'kind: LicensePool\nname: CML_Enterprise\nseats: 2\ntoken_file: token.txt\n')
    expect(await lcm('apply', '-f', file)).toBe(0)
    expect(shell.api.bodies()).toEqual([{ product: 'CML_Enterprise', seats: 2, token: 'pool-token' }])
    const more = fileOf('more.yaml', 'kind: LicensePool\nname: CML_Enterprise\nseats: 3\n')
    expect(await lcm('apply', '-f', more)).toBe(0)
    expect(shell.api.bodies().slice(1)).toEqual([{ seats: 3 }])
    expect(await lcm('apply', '-f', more)).toBe(0)
    expect(shell.api.bodies()).toHaveLength(2)
  })

  it.each([
    ['token: secret', 'token: put it into a file of its own'],
    ['token_file: none.txt', "none.txt can't be read (ENOENT)"],
    ['seats: 0', 'seats'],
    ['', 'also needs token_file'],
  ])('with %j is refused', async (line, words) => {
    const file = fileOf(
      'wrong.yaml',
      `kind: LicensePool\nname: CML_Enterprise\n${line === 'seats: 0' ? '' : 'seats: 1'}\n${line}\n`,
    )
    expect(await lcm('apply', '-f', file)).not.toBe(0)
    expect(shell.err()).toContain(words)
  })
})

it('registers a worker from the pool', async () => {
  await worker('one')
  await create(1)
  expect(await lcm('license', 'register', 'one', '--from-pool')).toBe(0)
  expect(shell.api.bodies().at(-1)).toEqual({ product: 'CML_Enterprise' })
})
