import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { pipe } from '@lcm/runtime'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { type WatchRequestSchema, WatchResponseSchema } from '../generated/etcd_pb.ts'
import { type WatchStreamEvent, watchStream } from './watch-stream.ts'

type Request = MessageInitShape<typeof WatchRequestSchema>
type Answer = MessageInitShape<typeof WatchResponseSchema>

const event = (key: string, revision: number) => ({
  kv: { key: Buffer.from(key), value: Buffer.from('v'), modRevision: BigInt(revision), createRevision: 1n },
})
const OPENED: Answer = { created: true, watchId: 0n, header: { revision: 50n, clusterId: 9n } }

/** A watch from revision 11 of a server with scripted responses. */
function aStream() {
  const clock = manualClock()
  const stop = new AbortController()
  const answers = pipe<Answer>({ signal: new AbortController().signal })
  const incoming = answers[Symbol.asyncIterator]()
  const asked: (string | undefined)[] = []
  const messages: WatchStreamEvent[] = []
  const state: { isOver: boolean; error: unknown } = { isOver: false, error: undefined }
  const stream = {
    send: (request: Request) => asked.push(request.requestUnion?.case),
    async next() {
      const { value, done } = await incoming.next()
      return done ? undefined : create(WatchResponseSchema, value)
    },
    cancel: (error: unknown) => answers.end(error),
  }
  const range = { key: '/lcm/', isPrefix: true }
  const options = { endpoint: 'etcd:2379', stream, clock, range, startRevision: 11, signal: stop.signal }
  const read = async () => {
    for await (const message of watchStream(options)) messages.push(message)
  }
  void read()
    .catch(error => {
      state.error = error
    })
    .finally(() => {
      state.isOver = true
    })
  const answer = async (...given: readonly Answer[]) => {
    for (const one of given) answers.push(one)
    await clock.advance(0)
  }
  const kinds = () => messages.map(({ kind }) => kind)
  return { clock, stop, answers, asked, messages, state, answer, kinds }
}

it('delivers nothing of a fragmented revision before all of it has arrived', async () => {
  const { answer, messages, kinds } = aStream()
  await answer(OPENED, { events: [event('a', 11), event('b', 12)], fragment: true })
  await answer({ events: [event('c', 12)], fragment: true })
  expect(kinds()).toEqual(['opened'])
  await answer({ events: [event('d', 12), event('e', 13)] })
  const delivered = messages.flatMap(message => (message.kind === 'changes' ? message.changes : []))
  expect(delivered.map(({ revision }) => revision)).toEqual([11, 12, 12, 12, 13])
})

it('requests progress while nothing arrives, and passes it on', async () => {
  const { clock, answer, asked, kinds } = aStream()
  await answer(OPENED)
  await clock.advance(1_500)
  expect(asked).toEqual(['createRequest', 'progressRequest'])
  await answer({ watchId: -1n, header: { revision: 99n } })
  expect(kinds()).toEqual(['opened', 'alive'])
})

it('never takes a newer revision in a progress response for delivered changes', async () => {
  const { answer, messages } = aStream()
  await answer(OPENED, { watchId: -1n, header: { revision: 99n } }, { events: [event('a', 12)] })
  expect(messages.filter(({ kind }) => kind === 'progress')).toEqual([])
  await answer({ watchId: 0n, header: { revision: 120n } })
  expect(messages.at(-1)).toEqual({ kind: 'progress', revision: 120 })
})

it('copes with a server that ignores progress requests: a second watch is always confirmed', async () => {
  const { clock, answer, asked, kinds, state } = aStream()
  await answer(OPENED)
  for (let round = 0; round < 10; round += 1) {
    await clock.advance(3_000)
    expect(asked.at(-1)).toBe('createRequest')
    await answer({ created: true, watchId: 1n })
    expect(asked.at(-1)).toBe('cancelRequest')
    await answer({ canceled: true, watchId: 1n }, { watchId: 1n, events: [event('not-ours', 60)] })
  }
  expect([state.isOver, new Set(kinds())]).toEqual([false, new Set(['opened', 'alive'])])
})

it('ends with an error after too many unanswered requests', async () => {
  const { clock, answer, state } = aStream()
  await answer(OPENED)
  await clock.advance(5_999)
  expect(state.isOver).toBe(false)
  await clock.advance(1)
  expect(state.error).toMatchObject({ code: 'etcd_slow', message: expect.stringContaining('is silent') })
  expect(clock.timersLeft()).toBe(0)
})

it('reports compaction by its code', async () => {
  const { answer, state } = aStream()
  await answer(OPENED, { canceled: true, watchId: 0n, compactRevision: 40n })
  expect(state.error).toMatchObject({ code: 'watch_compacted' })
})

it('reports why etcd rejected it', async () => {
  const { answer, state } = aStream()
  await answer({ created: true, canceled: true, watchId: -1n, cancelReason: 'etcdserver: permission denied' })
  expect(state.error).toMatchObject({ code: 'etcd_permission_denied' })
})

it('treats the end of the stream as an error, so that the caller reopens it', async () => {
  const { answer, answers, state, clock } = aStream()
  await answer(OPENED)
  answers.end()
  await clock.advance(0)
  expect(state.error).toMatchObject({ code: 'etcd_unreachable' })
})

it('ends without an error when it is aborted', async () => {
  const { answer, stop, state, clock } = aStream()
  await answer(OPENED)
  stop.abort(new Error('stop'))
  await clock.advance(0)
  expect([state.isOver, state.error, clock.timersLeft()]).toEqual([true, undefined, 0])
})
