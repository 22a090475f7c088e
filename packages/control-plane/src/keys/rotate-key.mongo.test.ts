import { openMongoStore } from '@lcm/store/mongo/store'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { STORE_SCHEMA } from '../resources.ts'
import { aFleet } from '../testing/a-fleet.ts'
import { givenKeys } from './secret-keys.ts'

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

const keys = (...bytes: number[]) => givenKeys(bytes.map(byte => Buffer.alloc(32, byte)))

it('a rotation on MongoDB loses no secret that two replicas write meanwhile', async () => {
  const at = { uri: server.uri, database: server.database() }
  const replica = async (seed: number, ...bytes: number[]) => {
    const random = seededRandom(seed)
    const store = await openMongoStore({ ...at, schema: STORE_SCHEMA })
    return aFleet({ store, secretKeys: keys(...bytes), randomBytes: size => random.bytes(size) })
  }
  const replicas = [await replica(1, 2, 1), await replica(2, 2, 1)] as const
  const [one] = replicas
  const { id } = await one.create()
  const passwords = Array.from({ length: 20 }, (_, n) => `password-${n}`)
  const writing = passwords.map(async (password, n) => {
    const json = { username: 'admin', password }
    const headers = { 'idempotency-key': password }
    await replicas[n % 2]?.send('POST', 'tokens', { json: { name: password, role: 'user' }, headers })
    return (await replicas[n % 2]?.send('PUT', `workers/${id}/credentials`, { json }))?.status
  })
  let isDone = false
  for (let step = 0; step < 50 && !isDone; step += 1) isDone = (await one.send('POST', 'secret-key/rotate')).json.done
  expect(isDone).toBe(true)
  await Promise.all(writing)

  // The old key is gone.
  const after = await replica(3, 2)
  const { json } = await after.send('GET', `workers/${id}/secrets`, { as: 'controller' })
  expect(passwords).toContain(json.cml_password)
  for (const name of passwords) {
    const again = { json: { name, role: 'user' }, headers: { 'idempotency-key': name } }
    expect((await after.send('POST', 'tokens', again)).json).toMatchObject({ name, secret: expect.any(String) })
  }
  await Promise.all([...replicas, after].map(({ store }) => store.close()))
})
