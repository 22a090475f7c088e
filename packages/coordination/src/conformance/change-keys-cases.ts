import type { WatchMessage } from '@lcm/runtime'
import { expect, it } from 'vitest'
import type { ChangeHint, ChangeKeys } from '../change-keys.ts'
import { type ChangeKeysFixture, eventually } from './fixture.ts'

const KEY = '/lcm/workers/w-1'
const aHint = (version: number, id = 'w-1'): ChangeHint => ({
  id,
  version,
  updated_at: new Date(version * 1_000).toISOString(),
  status: 'RUNNING',
  desired_status: 'RUNNING',
})

interface Reading {
  readonly messages: WatchMessage<ChangeHint>[]
  /** All messages except progress, such as `put /lcm/workers/w-1 v2`. */
  changes(): string[]
  readonly stop: AbortController
  isOver: boolean
  error: unknown
}

const changeOf = (message: WatchMessage<ChangeHint>): string[] => {
  if (message.type === 'progress') return []
  if (message.type === 'delete') return [`delete ${message.key}`]
  return [`${message.hint.deleted ? 'gone' : 'put'} ${message.key} v${message.hint.version}`]
}

/** Reads a watch in the background. */
function readAfter(keys: ChangeKeys, prefix: string, afterRevision: number): Reading {
  const stop = new AbortController()
  const messages: WatchMessage<ChangeHint>[] = []
  const changes = () => messages.flatMap(changeOf)
  const reading: Reading = { messages, changes, stop, isOver: false, error: undefined }
  const readAll = async () => {
    for await (const message of keys.source(prefix).watch(afterRevision, stop.signal)) messages.push(message)
  }
  void readAll()
    .catch(error => {
      reading.error = error
    })
    .finally(() => {
      reading.isOver = true
    })
  return reading
}

/** Reads from the current revision. */
const readFromNow = async (keys: ChangeKeys, prefix = '/lcm/') =>
  readAfter(keys, prefix, (await listAll(keys)).revision)

const listAll = (keys: ChangeKeys, prefix = '/lcm/') => keys.source(prefix).list(new AbortController().signal)

export function changeKeysCases(fixture: () => ChangeKeysFixture): void {
  publishing(fixture)
  removing(fixture)
  listing(fixture)
  watching(fixture)
  resuming(fixture)
}

function publishing(fixture: () => ChangeKeysFixture): void {
  it('sets a key to what was published, for every client', async () => {
    const { connect } = fixture()
    expect(await connect().publish(KEY, aHint(1))).toBe(true)
    const { entries, revision } = await listAll(connect())
    expect(entries).toMatchObject([{ key: KEY, hint: aHint(1) }])
    expect(entries[0]?.revision).toBeLessThanOrEqual(revision)
  })

  it('never replaces a newer version by an older or equal one, and wakes no reader for it', async () => {
    const keys = fixture().connect()
    await keys.publish(KEY, aHint(5))
    const before = await listAll(keys)
    expect([await keys.publish(KEY, aHint(4)), await keys.publish(KEY, aHint(5))]).toEqual([false, false])
    expect(await listAll(keys)).toEqual(before)
  })

  it('ends at the newest version, whatever the order in which replicas publish', async () => {
    const { connect } = fixture()
    const replicas = [connect(), connect()]
    const versions = [3, 9, 1, 10, 7, 2, 8, 5, 4, 6]
    await Promise.all(versions.flatMap(version => replicas.map(keys => keys.publish(KEY, aHint(version)))))
    expect((await listAll(connect())).entries).toMatchObject([{ hint: { version: 10 } }])
  })
}

function removing(fixture: () => ChangeKeysFixture): void {
  it('publishes a removal with its own version, without the last state of the resource', async () => {
    const keys = fixture().connect()
    await keys.publish(KEY, aHint(5))
    expect(await keys.remove(KEY, 6)).toBe(true)
    const { entries } = await listAll(keys)
    expect(entries.map(({ hint }) => hint)).toEqual([
      { id: 'w-1', version: 6, updated_at: aHint(5).updated_at, deleted: true },
    ])
  })

  it('does not remove a key with the version of the removal or a newer one, and wakes no reader for it', async () => {
    const keys = fixture().connect()
    await keys.publish(KEY, aHint(5))
    const before = await listAll(keys)
    expect([await keys.remove(KEY, 4), await keys.remove(KEY, 5)]).toEqual([false, false])
    expect(await listAll(keys)).toEqual(before)
  })

  it('publishes a removal though the key was never set', async () => {
    const keys = fixture().connect()
    expect(await keys.remove(KEY, 2)).toBe(true)
    const { entries } = await listAll(keys)
    expect(entries.map(({ hint }) => hint)).toEqual([{ id: 'w-1', version: 2, updated_at: '', deleted: true }])
  })

  it('publishes a removal once, and no late writer brings the key back', async () => {
    const { connect } = fixture()
    const [one, other] = [connect(), connect()]
    await one.publish(KEY, aHint(5))
    const reading = await readFromNow(one)
    const removed = await Promise.all([one, other, one, other].map(keys => keys.remove(KEY, 7)))
    const published = await Promise.all(
      [one, other].flatMap(keys => [5, 6, 7].map(version => keys.publish(KEY, aHint(version)))),
    )
    expect(removed.filter(isDone => isDone)).toEqual([true])
    expect(published).toEqual(Array(6).fill(false))
    await one.publish('/lcm/workers/w-2', aHint(1, 'w-2'))
    await eventually(fixture(), () => reading.changes().length >= 2)
    expect(reading.changes()).toEqual([`gone ${KEY} v7`, 'put /lcm/workers/w-2 v1'])
    reading.stop.abort()
  })
}

function listing(fixture: () => ChangeKeysFixture): void {
  it('lists the keys under its prefix and no others', async () => {
    const keys = fixture().connect()
    await keys.publish('/lcm/workers/w-1', aHint(1))
    await keys.publish('/lcm/sessions/s-1', aHint(1, 's-1'))
    const { entries } = await listAll(keys, '/lcm/workers/')
    expect(entries.map(entry => entry.key)).toEqual(['/lcm/workers/w-1'])
  })

  it('lists each key with the revision that last changed it', async () => {
    const keys = fixture().connect()
    await keys.publish('/lcm/workers/w-1', aHint(1))
    await keys.publish('/lcm/workers/w-2', aHint(1, 'w-2'))
    const before = await listAll(keys)
    await keys.publish('/lcm/workers/w-1', aHint(2))
    const after = await listAll(keys)
    const changed = after.entries.filter(entry => entry.revision > before.revision)
    expect(changed.map(entry => entry.key)).toEqual(['/lcm/workers/w-1'])
    expect(after.revision).toBeGreaterThan(before.revision)
  })

  it('rejects when it is aborted', async () => {
    const source = fixture().connect().source('/lcm/')
    await expect(source.list(AbortSignal.abort(new Error('no time')))).rejects.toThrow()
  })
}

function watching(fixture: () => ChangeKeysFixture): void {
  it('sends progress as soon as it is open, though nothing changes', async () => {
    const reading = await readFromNow(fixture().connect())
    await eventually(fixture(), () => reading.messages.length > 0)
    expect(reading.messages[0]?.type).toBe('progress')
    reading.stop.abort()
  })

  it('sends progress within 10 seconds while nothing changes', async () => {
    const keys = fixture().connect()
    await keys.publish(KEY, aHint(1))
    const { revision } = await listAll(keys)
    const reading = readAfter(keys, '/lcm/', revision)
    await eventually(fixture(), () => reading.messages.length > 0)
    const before = reading.messages.length
    await eventually(fixture(), () => reading.messages.length > before)
    await eventually(fixture(), () => reading.messages.length > before + 1)
    expect(reading.messages.at(-1)?.type).toBe('progress')
    expect(reading.messages.at(-1)?.revision).toBeGreaterThanOrEqual(revision)
    reading.stop.abort()
  })

  it('sends puts and removals of its prefix in order, with growing revisions', async () => {
    const { connect } = fixture()
    const [writer, reader] = [connect(), connect()]
    const reading = await readFromNow(reader, '/lcm/workers/')
    await eventually(fixture(), () => reading.messages.length > 0)
    await writer.publish(KEY, aHint(1))
    await writer.publish('/lcm/sessions/s-1', aHint(1, 's-1'))
    await writer.publish(KEY, aHint(2))
    await writer.remove(KEY, 3)
    await eventually(fixture(), () => reading.changes().length >= 3)
    expect(reading.changes()).toEqual([`put ${KEY} v1`, `put ${KEY} v2`, `gone ${KEY} v3`])
    const revisions = reading.messages.map(message => message.revision)
    expect(revisions).toEqual([...revisions].sort((one, other) => one - other))
    const ofChanges = reading.messages.filter(message => message.type !== 'progress').map(message => message.revision)
    expect(new Set(ofChanges).size).toBe(3)
    reading.stop.abort()
  })

  it('ends soon after it is aborted, without an error', async () => {
    const reading = await readFromNow(fixture().connect())
    await eventually(fixture(), () => reading.messages.length > 0)
    reading.stop.abort()
    await eventually(fixture(), () => reading.isOver)
    expect(reading.error).toBeUndefined()
  })
}

function resuming(fixture: () => ChangeKeysFixture): void {
  it('has no gap between the list and the watch', async () => {
    const keys = fixture().connect()
    await keys.publish(KEY, aHint(1))
    const { revision } = await listAll(keys)
    await keys.publish(KEY, aHint(2))
    const reading = readAfter(keys, '/lcm/', revision)
    await keys.publish(KEY, aHint(3))
    await eventually(fixture(), () => reading.changes().length >= 2)
    expect(reading.changes()).toEqual([`put ${KEY} v2`, `put ${KEY} v3`])
    reading.stop.abort()
  })

  it('sends exactly the missed changes when it resumes after the last revision', async () => {
    const keys = fixture().connect()
    const first = await readFromNow(keys)
    await keys.publish(KEY, aHint(1))
    await eventually(fixture(), () => first.changes().length === 1)
    first.stop.abort()
    await keys.publish(KEY, aHint(2))
    await keys.remove(KEY, 3)
    const second = readAfter(keys, '/lcm/', first.messages.at(-1)?.revision ?? 0)
    await eventually(fixture(), () => second.changes().length >= 2)
    expect(second.changes()).toEqual([`put ${KEY} v2`, `gone ${KEY} v3`])
    second.stop.abort()
  })

  it('reports compaction by its code, and a new list continues from there', async () => {
    const { connect, compact } = fixture()
    const keys = connect()
    const before = await listAll(keys)
    for (let version = 1; version <= 5; version += 1) await keys.publish(KEY, aHint(version))
    await compact()
    const late = readAfter(keys, '/lcm/', before.revision)
    await eventually(fixture(), () => late.isOver)
    expect(late.error).toMatchObject({ code: 'watch_compacted' })
    const { entries, revision } = await listAll(keys)
    expect(entries).toMatchObject([{ hint: { version: 5 } }])
    const reading = readAfter(keys, '/lcm/', revision)
    await keys.publish(KEY, aHint(6))
    await eventually(fixture(), () => reading.changes().length > 0)
    expect(reading.changes()).toEqual([`put ${KEY} v6`])
    reading.stop.abort()
  })
}
