import { apiClient } from '@lcm/client/client'
import { expect, it } from 'vitest'
import { findDefinition, findLab, findSession, workerLabel } from '../find-resource.ts'
import { cliApi } from '../testing/in-memory-api.ts'
import { aDefinition, aLab, aSession, aWorker, LAB } from '../testing/resource-builders.ts'

const { signal } = new AbortController()

function course() {
  const api = cliApi()
  return { ...api, api, client: apiClient(api.dispatch, { token: 'secret' }) }
}

it('finds the version of a name that would be booked', async () => {
  const { client, definitions } = course()
  definitions.put(aDefinition({ id: 'ld-1', definition_version: '1.0.9', status: 'DEPRECATED' }))
  expect((await findDefinition(client, 'two-routers', signal)).id).toBe('ld-1')
  definitions.put(aDefinition({ id: 'ld-2', definition_version: '1.0.8' }))
  definitions.put(aDefinition({ id: 'ld-3', definition_version: '1.0.10' }))
  definitions.put(aDefinition({ id: 'ld-4', definition_version: '1.0.11', status: 'PENDING_SYNC' }))
  definitions.put(aDefinition({ id: 'ld-5', name: 'other' }))
  expect(await findDefinition(client, 'two-routers', signal)).toMatchObject({ id: 'ld-3', topology: LAB })
  expect((await findDefinition(client, 'ld-1', signal)).status).toBe('DEPRECATED')
})

it('finds a definition whose name has the form of an id', async () => {
  const { client, definitions } = course()
  definitions.put(aDefinition({ name: 'ld-basics' }))
  expect((await findDefinition(client, 'ld-basics', signal)).id).toBe('ld-1')
})

it('finds labs by id and by title, existing labs first', async () => {
  const { client, labs } = course()
  labs.put(aLab({ id: 'lr-1', status: 'DELETED' }))
  labs.put(aLab({ id: 'lr-2', lab_id: 'lab-2' }))
  expect((await findLab(client, 'BGP basics', signal)).id).toBe('lr-2')
  expect((await findLab(client, 'lr-1', signal)).status).toBe('DELETED')
  labs.put(aLab({ id: 'lr-3', worker_id: 'w-2' }))
  await expect(findLab(client, 'BGP basics', signal)).rejects.toMatchObject({
    exitCode: 4,
    details: ['lr-2  BOOTED  w-0abcdefgh0001', 'lr-3  BOOTED  w-2'],
  })
})

it('names the command that lists the kind when there is no match', async () => {
  const { client } = course()
  const missing = (noun: string, listing: string) => ({
    exitCode: 3,
    message: `${noun} None not found`,
    advice: `list all with \`lcm get ${listing} --all\``,
  })
  await expect(findSession(client, 'None', signal)).rejects.toMatchObject(missing('session', 'sessions'))
  await expect(findDefinition(client, 'None', signal)).rejects.toMatchObject(missing('definition', 'definitions'))
  await expect(findLab(client, 'None', signal)).rejects.toMatchObject(missing('lab', 'labs'))
})

it('shows the name of a worker while its record exists', async () => {
  const { api, client } = course()
  api.put(aWorker())
  expect(await workerLabel(client, aWorker().id, signal)).toBe('metal-1 (w-0abcdefgh0001)')
  expect(await workerLabel(client, 'w-gone', signal)).toBe('w-gone')
  expect(await workerLabel(client, null, signal)).toBeNull()
})

it('finds a session by its id', async () => {
  const { client, sessions } = course()
  sessions.put(aSession())
  expect((await findSession(client, 'ls-1', signal)).owner).toBe('ann')
})
