import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MOTO_CREDENTIALS, type MotoServer, startMoto } from '../testing/moto-server.ts'
import { s3Objects } from './object-storage.ts'

const never = new AbortController().signal
const KEY = '2026/bgp basics (1) é.zip'

let moto: MotoServer
beforeAll(async () => {
  moto = await startMoto()
  for (const path of ['labs', `labs/${encodeURIComponent(KEY)}`]) {
    const { ok, status } = await fetch(`${moto.url}/${path}`, {
      method: 'PUT',
      body: path === 'labs' ? null : 'a package',
    })
    if (!ok) throw new Error(`moto would not keep it: ${status}`)
  }
})
afterAll(() => moto.close())

const read = (bucket: string, key: string) =>
  s3Objects({ clock: systemClock, region: 'us-east-1', endpoint: moto.url, credentials: MOTO_CREDENTIALS, fetch }).read(
    { bucket, key },
    1_000,
    never,
  )

it('reads an object of another client', async () => {
  expect(String(await read('labs', KEY))).toBe('a package')
})

it('reports a missing object', async () => {
  await expect(read('labs', 'nothing')).rejects.toMatchObject({ errorClass: 'not_found', code: 'NoSuchKey' })
  await expect(read('no-such-bucket', KEY)).rejects.toMatchObject({ errorClass: 'not_found', code: 'NoSuchBucket' })
})
