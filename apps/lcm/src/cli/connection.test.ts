import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UnreachableError } from '@lcm/client/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connect, findTarget } from './connection.ts'
import { capturedShell } from './testing/captured-shell.ts'

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'lcm-cli-'))
})
afterEach(() => rm(dir, { recursive: true }))

const running = async (api = 'http://127.0.0.1:8080') => {
  await writeFile(join(dir, 'endpoints.json'), JSON.stringify({ api, aws: null, sim_control: null, pid: 1 }))
  await writeFile(join(dir, 'admin-token'), 'from-folder\n')
}

describe('findTarget', () => {
  it('prefers options to the environment to the data folder', async () => {
    await running()
    const env = { LCM_URL: 'http://env:1', LCM_TOKEN: 'from-env', LCM_DATA: dir }
    const options = { url: 'http://option:2', token: 'from-option' }
    expect(await findTarget(options, env)).toMatchObject({ url: 'http://option:2', token: 'from-option' })
    expect(await findTarget({}, env)).toMatchObject({ url: 'http://env:1', token: 'from-env' })
    expect(await findTarget({}, { LCM_DATA: dir })).toMatchObject({
      url: 'http://127.0.0.1:8080',
      token: 'from-folder',
    })
    expect(await findTarget({ data: dir }, { LCM_DATA: '/nowhere' })).toMatchObject({ token: 'from-folder' })
  })

  it('refuses an empty token option', async () => {
    await running()
    await expect(findTarget({ token: '' }, { LCM_DATA: dir })).rejects.toThrow('--token is empty')
  })

  it('treats an empty variable as unset', async () => {
    await running()
    expect(await findTarget({}, { LCM_URL: '', LCM_TOKEN: '', LCM_DATA: dir })).toMatchObject({ token: 'from-folder' })
  })

  it('reads the token from the file in LCM_TOKEN_FILE', async () => {
    const path = join(dir, 'token')
    await writeFile(path, 'from-file\n')
    const env = { LCM_URL: 'http://env:1', LCM_TOKEN_FILE: path }
    expect(await findTarget({}, env)).toMatchObject({ token: 'from-file' })
    expect(await findTarget({ token: 'from-option' }, env)).toMatchObject({ token: 'from-option' })
    await expect(findTarget({}, { ...env, LCM_TOKEN: 'x' })).rejects.toThrow(
      'LCM_TOKEN and LCM_TOKEN_FILE are both set',
    )
    await expect(findTarget({}, { ...env, LCM_TOKEN_FILE: join(dir, 'none') })).rejects.toThrow('has no token')
  })

  it('sends the token of the data folder only to the LCM of that folder', async () => {
    await running()
    expect(await findTarget({ url: 'http://localhost:8080', data: dir }, {})).toMatchObject({ token: 'from-folder' })
    expect(await findTarget({ url: 'http://localhost:8081', data: dir }, {})).toMatchObject({ token: null })
    expect(await findTarget({ url: 'http://evil.example', data: dir }, {})).toMatchObject({ token: null })
    expect(await findTarget({ url: 'http://127.0.0.1.evil.example:8080', data: dir }, {})).toMatchObject({
      token: null,
    })
  })

  it('explains how to start LCM when none is running', async () => {
    await expect(findTarget({ data: dir }, {})).rejects.toMatchObject({
      exitCode: 6,
      message: `no LCM is running with data folder ${dir}`,
      advice: 'start it with `npm start`, or set --url',
    })
  })

  it('refuses a damaged file and a folder in place of one', async () => {
    await writeFile(join(dir, 'endpoints.json'), '{"api": 7}')
    await expect(findTarget({ data: dir }, {})).rejects.toMatchObject({ exitCode: 6 })
    await rm(join(dir, 'endpoints.json'))
    await mkdir(join(dir, 'endpoints.json'))
    await expect(findTarget({ data: dir }, {})).rejects.toMatchObject({ exitCode: 1 })
  })

  it('refuses an invalid address', async () => {
    for (const url of ['nonsense', 'ftp://x', 'localhost:8080']) {
      await expect(findTarget({ url }, {})).rejects.toMatchObject({ exitCode: 2 })
    }
  })
})

describe('connect', () => {
  const info = async (shell: ReturnType<typeof capturedShell>['shell']) =>
    (await connect({}, shell)).client.call('info', {})
  const env = { LCM_URL: 'http://127.0.0.1:8080' }

  it('gives advice when the API does not respond', async () => {
    const { shell, api } = capturedShell({ env })
    api.crash()
    await expect(info(shell)).rejects.toMatchObject({
      name: 'UnreachableError',
      message: 'LCM does not respond at http://127.0.0.1:8080',
      advice: 'check the address in --url or LCM_URL',
    })
  })

  it('warns that a write may have succeeded, unless it was never sent', async () => {
    const create = async (cause: Error) => {
      const transport = async () => () => Promise.reject(new UnreachableError('silence', { cause }))
      const { shell, clock } = capturedShell({ env })
      const { client } = await connect({}, { ...shell, transport })
      const created = client.call('createWorker', { body: { template_name: 'metal' } })
      created.catch(() => undefined)
      await clock.advance(60_000)
      return created
    }
    await expect(create(new Error('reset'))).rejects.toThrow('the request may have been performed')
    await expect(create(Object.assign(new Error(), { code: 'ECONNREFUSED' }))).rejects.not.toThrow(
      'the request may have been performed',
    )
  })

  it('reports a server that is not LCM', async () => {
    const transport = async () => async () => ({
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: '<html>',
    })
    await expect(info({ ...capturedShell({ env }).shell, transport })).rejects.toMatchObject({
      message: 'the server at http://127.0.0.1:8080 is not an LCM API',
      advice: 'check the address in --url or LCM_URL',
    })
  })
})
