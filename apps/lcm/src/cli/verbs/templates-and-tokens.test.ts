import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toInstant } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'
import { expect, it, onTestFinished } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aTemplate, START_MS } from '../testing/resource-builders.ts'

const aToken = (more: Partial<Token> = {}): Token => ({
  id: 'tk-1',
  version: 1,
  created_at: toInstant(START_MS),
  updated_at: toInstant(START_MS),
  name: 'ci',
  person_id: 'pe-1',
  role: 'operator',
  service: null,
  expires_at: null,
  ...more,
})

function admin(input?: string) {
  const captured = capturedShell(input === undefined ? {} : { input })
  captured.api.putTemplate(aTemplate({ name: 'metal' }))
  for (const token of [aToken(), aToken({ id: 'tk-2', name: 'twice' }), aToken({ id: 'tk-3', name: 'twice' })])
    captured.api.putToken(token)
  return { ...captured, lcm: (...args: string[]) => run(args, captured.shell) }
}

it('enables and disables templates', async () => {
  const { lcm, api, out } = admin()
  expect(await lcm('disable', 'template', 'metal')).toBe(0)
  expect(await lcm('enable', 'template', 'metal', '-o', 'name')).toBe(0)
  expect(out()).toBe('template metal disabled: new workers can no longer use it\nmetal\n')
  expect(api.requests().filter(request => request.startsWith('POST'))).toEqual([
    'POST /capacity/preview',
    'POST /worker-templates/metal/disable',
    'POST /worker-templates/metal/enable',
  ])
  expect(await lcm('disable', 'template', 'none')).toBe(3)
})

it('edits a template from a file, which may omit the name', async () => {
  const { name: _, id: __, version: ___, ...spec } = aTemplate({ name: 'metal' })
  const { lcm, out, api, err } = admin(JSON.stringify({ ...spec, cost_per_hour_usd: 77 }))
  expect(await lcm('edit', 'template', 'metal', '-f', '-')).toBe(0)
  expect(out()).toBe('template metal changed\n')
  expect(api.bodies().at(-1)).toMatchObject({ cost_per_hour_usd: 77 })
  const folder = await mkdtemp(join(tmpdir(), 'lcm-edit-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'other.yaml'), 'name: other\n')
  expect(await lcm('edit', 'template', 'metal', '-f', join(folder, 'other.yaml'))).toBe(2)
  expect(err()).toContain('is for template other, not metal')
})

it('keeps the fields that the file omits, and prints the errors of the file', async () => {
  const { lcm, api } = admin('cost_per_hour_usd: 77')
  expect(await lcm('edit', 'template', 'metal', '-f', '-')).toBe(0)
  const { instance_types, ami_owner } = aTemplate()
  expect(api.bodies()).toMatchObject([{ instance_types, ami_owner, cost_per_hour_usd: 77 }])
  const wrong = admin('cost_per_hour_usd: much\ncolor: red\n')
  expect(await wrong.lcm('edit', 'template', 'metal', '-f', '-')).toBe(1)
  expect(wrong.err()).toContain('color: unknown field')
  const broken = admin('a: [')
  expect(await broken.lcm('edit', 'template', 'metal', '-f', '-')).toBe(1)
  expect(broken.err()).toContain('nothing was changed: fix these errors and try again')
})

it('deletes templates', async () => {
  const { lcm, out } = admin()
  expect(await lcm('delete', 'template', 'metal')).toBe(0)
  expect(out()).toBe('template metal deleted\n')
  expect(await lcm('delete', 'template', 'metal')).toBe(3)
})

it('lists tokens and revokes one by id or unique name', async () => {
  const { lcm, outLines, api, err } = admin()
  expect(await lcm('get', 'tokens')).toBe(0)
  expect(outLines().slice(0, 2)).toEqual([
    'NAME    ID     ROLE       PERSON   SERVICE   EXPIRES   AGE',
    'ci      tk-1   operator   pe-1     -         never     0s',
  ])
  expect(await lcm('delete', 'token', 'ci')).toBe(0)
  expect(outLines().at(-1)).toBe('token ci (tk-1) revoked')
  expect(api.requests().at(-1)).toBe('DELETE /tokens/tk-1')
  expect(await lcm('delete', 'token', 'twice')).toBe(4)
  expect(await lcm('delete', 'token', 'none')).toBe(3)
  expect(err()).toContain('token none not found: list all with `lcm get tokens`')
})
