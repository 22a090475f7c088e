import { describe, expect, it } from 'vitest'
import { StoreError } from '../store.ts'
import { guardWith, isOnlyDuplicates, secretsIn, takenField } from './error-guard.ts'
import { openMongoStore } from './store.ts'

const duplicate = (more: object) => Object.assign(new Error('E11000 duplicate key error'), { code: 11_000, ...more })
const PASSWORD = 's3cr3t/p@ss'

/** The message when opening fails. */
async function refusal(uri: string): Promise<string> {
  const error = await openMongoStore({ uri, timeoutMs: 100 }).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(StoreError)
  return error instanceof StoreError ? error.message : ''
}

describe('the message of a failure', () => {
  const messageOf = (error: unknown) =>
    guardWith(['hunter2'])(() => Promise.reject(error)).catch((thrown: StoreError) => thrown.message)
  const named = (name: string, message: string, code?: unknown) => Object.assign(new Error(message), { name, code })

  it.each([
    [
      named('MongoServerSelectionError', 'connect ECONNREFUSED 10.0.0.1:27017'),
      /can't be reached: connect ECONN.*LCM_STORE/,
    ],
    [named('Error', 'querySrv ENOTFOUND db.example', 'ENOTFOUND'), /can't be reached: querySrv/],
    [named('MongoServerError', 'Authentication failed.', 18), /rejected the user.*password in LCM_STORE/],
    [named('MongoWriteConcernError', 'waiting for replication timed out', 64), /^MongoDB failed: waiting/],
    ['a text', /^MongoDB failed: a text/],
  ])('has advice about %s', async (error, sentence) => {
    expect(await messageOf(error)).toMatch(sentence)
  })

  it('hides secrets', async () => {
    const sentence = await messageOf(new Error('no user hunter2, really: hunter2'))
    expect(sentence).toBe('MongoDB failed: no user ***, really: ***')
  })

  it('leaves a StoreError unchanged', async () => {
    expect(await messageOf(new StoreError('as it is'))).toBe('as it is')
  })
})

describe('passwords in addresses', () => {
  it('are found raw and decoded', () => {
    expect(secretsIn('mongodb://user:a%40b@host/lcm')).toEqual(['a%40b', 'a@b'])
    expect(secretsIn('mongodb://user:pw@host/lcm?appName=a@b')).toContain('pw')
    expect(secretsIn('mongodb://user:p@w@host/lcm')).toContain('p@w')
    expect(secretsIn('mongodb://u@host/?tlsCertificateKeyFilePassword=%zz')).toEqual(['%zz'])
    expect(secretsIn('mongodb://host:27017/lcm')).toEqual([])
  })

  it.each([
    `mongodb://user:${PASSWORD}@127.0.0.1:1/lcm`,
    `mongodb://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:1/lcm`,
    `mongodb://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:1/lcm?noSuchOption=${encodeURIComponent(PASSWORD)}`,
    `mongodb://user:${PASSWORD}@`,
    `mongodb+srv://user:${encodeURIComponent(PASSWORD)}@/`,
    `postgres://user:${PASSWORD}@host/lcm`,
    PASSWORD,
  ])('never appear in a message: %#', async uri => {
    const sentence = await refusal(uri)
    expect(sentence).toMatch(/can't be reached|Write it as mongodb:/)
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), 's3cr3t']) expect(sentence).not.toContain(secret)
  })
})

describe('a duplicate', () => {
  it.each([
    [duplicate({ keyPattern: { _id: 1 } }), 'id'],
    [duplicate({ keyPattern: { 'unique.serial': 1 } }), 'serial'],
    [duplicate({ message: 'E11000 duplicate key error collection: d.c index: _id_ dup key: { _id: "a" }' }), 'id'],
    [
      duplicate({
        message:
          'E11000 collection: d.c index: unique.serial dup key: { unique.serial: " index: unique.other dup key" }',
      }),
      'serial',
    ],
    [duplicate({ keyPattern: { other: 1 } }), null],
    [new Error('E11000 index: unique.serial dup key'), null],
  ])('is recognized by what is taken: %#', (error, field) => {
    expect(takenField(error)).toBe(field)
  })

  it('among many writes excuses no other failure', () => {
    expect(isOnlyDuplicates(duplicate({ writeErrors: [{ code: 11_000 }, { code: 11_000 }] }))).toBe(true)
    expect(isOnlyDuplicates(duplicate({ writeErrors: [{ code: 11_000 }, { code: 8 }] }))).toBe(false)
    const unsure = { writeErrors: [{ code: 11_000 }], result: { getWriteConcernError: () => ({ code: 64 }) } }
    expect(isOnlyDuplicates(duplicate(unsure))).toBe(false)
    expect(isOnlyDuplicates(new Error('connection closed'))).toBe(false)
  })
})
