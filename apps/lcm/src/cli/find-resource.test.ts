import { apiClient } from '@lcm/client/client'
import { expect, it } from 'vitest'
import { findTemplate, findWorker } from './find-resource.ts'
import { cliApi } from './testing/in-memory-api.ts'
import { aTemplate, aWorker } from './testing/resource-builders.ts'

const { signal } = new AbortController()

function fleet(...workers: ReturnType<typeof aWorker>[]) {
  const api = cliApi()
  workers.forEach(api.put)
  api.putTemplate(aTemplate())
  return apiClient(api.dispatch, { token: 'secret' })
}

it('finds a worker by id and by name', async () => {
  const client = fleet(aWorker(), aWorker({ id: 'w-2', name: 'metal-10' }), aWorker({ id: 'w-3', name: 'w-odd' }))
  expect((await findWorker(client, 'w-2', signal)).name).toBe('metal-10')
  expect((await findWorker(client, 'metal-1', signal)).id).toBe('w-0abcdefgh0001')
  expect((await findWorker(client, 'w-odd', signal)).id).toBe('w-3')
})

it('prefers an existing worker to a terminated one of the same name', async () => {
  const client = fleet(aWorker({ id: 'w-1', status: 'TERMINATED' }), aWorker({ id: 'w-2' }))
  expect((await findWorker(client, 'metal-1', signal)).id).toBe('w-2')
  const dead = fleet(aWorker({ id: 'w-1', status: 'TERMINATED' }))
  expect((await findWorker(dead, 'metal-1', signal)).id).toBe('w-1')
})

it('refuses a name that two workers share', async () => {
  const client = fleet(aWorker({ id: 'w-1' }), aWorker({ id: 'w-2', aws_region: 'eu-west-1' }))
  await expect(findWorker(client, 'metal-1', signal)).rejects.toMatchObject({
    exitCode: 4,
    message: '2 workers are named metal-1',
    advice: 'use the id instead',
    details: ['w-1  PENDING  us-east-1', 'w-2  PENDING  eu-west-1'],
  })
})

it('exits with 3 when there is no match', async () => {
  await expect(findWorker(fleet(), 'metal-9', signal)).rejects.toMatchObject({ exitCode: 3 })
  await expect(findTemplate(fleet(), 'none', signal)).rejects.toMatchObject({ exitCode: 3 })
})

it('finds a template by name and by id', async () => {
  expect((await findTemplate(fleet(), 'metal', signal)).id).toBe('wt-0abcdefgh0001')
  expect((await findTemplate(fleet(), 'wt-0abcdefgh0001', signal)).name).toBe('metal')
})
