import { systemClock as clock } from '@lcm/runtime/clock'
import { expect, it } from 'vitest'
import { labletControllerEnvironment, upEnvironment } from '../environment/environment.ts'
import { s3ObjectsOf } from '../s3-objects.ts'
import { contentSourcesOf } from './content-setting.ts'

const never = new AbortController().signal
const NEEDED = { LCM_SERVICE_TOKEN: 't', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }
const read = (source: string, given: Record<string, string> = {}) => {
  const env = labletControllerEnvironment({ ...NEEDED, ...given })
  const objects = s3ObjectsOf(env, { clock, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })
  return contentSourcesOf(env, { folder: null, objects }).read(source, never)
}

it.each([
  ['https://localhost:4/x', {}, 'is not public'],
  ['https://localhost:4/x', { LCM_OUTBOUND_PRIVATE_HOSTS: 'localhost' }, 'the connection to its host failed'],
  ['https://localhost:4/x', { LCM_CONTENT_HOSTS: 'labs.example' }, 'host localhost is not one of those'],
  ['https://localhost:4/x', { LCM_CONTENT_HOSTS: 'localhost' }, 'is not public'],
  ['s3://payroll/x', { LCM_CONTENT_BUCKETS: 'labs' }, 'bucket payroll is not one of those'],
  ['s3://labs/x', { LCM_CONTENT_BUCKETS: 'labs' }, 'S3 did not give it out'],
])('%s with %j: %s', async (source, given, message) => {
  await expect(read(source, given)).rejects.toThrow(message)
})

it.each(['https://labs.example', 'labs.example/x', '10.0.0.0/8', '*'])('%s is no host', host => {
  expect(() => upEnvironment({ LCM_OUTBOUND_PRIVATE_HOSTS: host })).toThrow(
    /LCM_OUTBOUND_PRIVATE_HOSTS=.*: hosts such as labs\.example/,
  )
})
