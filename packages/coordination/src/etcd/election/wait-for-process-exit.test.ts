import { createServer, type Server, type Socket } from 'node:net'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it, onTestFinished } from 'vitest'
import { type LivenessServer, openLivenessServer } from './liveness-server.ts'
import { waitForProcessExit } from './wait-for-process-exit.ts'

/** Longer than the checks after a closed connection, and than the delay before another attempt. */
const LONG_MS = 1_200

interface Watch {
  verdict: boolean | undefined
  /** Resolves when a connection is established. */
  readonly greeted: Promise<void>
  stop(): void
}

function watching(address: string, instanceId = 'a', isLocal = false): Watch {
  const stop = new AbortController()
  let onGreeted = () => undefined
  const greeted = new Promise<void>(resolve => {
    onGreeted = () => void resolve()
  })
  const watch: Watch = { verdict: undefined, greeted, stop: () => stop.abort() }
  const options = { clock: systemClock, address, instanceId, isLocal, signal: stop.signal, onGreeted }
  void waitForProcessExit(options).then(isDead => {
    watch.verdict = isDead
  })
  onTestFinished(() => stop.abort())
  return watch
}

async function verdictWithin(watch: Watch, ms: number): Promise<boolean | undefined> {
  const deadline = systemClock.monotonic() + ms
  while (watch.verdict === undefined && systemClock.monotonic() < deadline) await systemClock.sleep(5)
  return watch.verdict
}

const alive = async (instanceId = 'a'): Promise<LivenessServer> => openLivenessServer('127.0.0.1', instanceId)

/** A server with scripted connections, on a given port or a free one. */
async function aServer(onConnect: (socket: Socket) => void, port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    onConnect(socket)
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
  })
  const address = server.address()
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

const portOf = (address: string) => Number(address.split(':').at(-1))

it('detects the exit of a process that has greeted it, within half a second', async () => {
  const liveness = await alive()
  const watch = watching(liveness.address)
  await watch.greeted
  expect(watch.verdict).toBeUndefined()
  await liveness.close()
  expect(await verdictWithin(watch, 500)).toBe(true)
})

it('treats another process at the same address as the exit of the one before', async () => {
  const liveness = await alive('a')
  const watch = watching(liveness.address)
  await watch.greeted
  await liveness.close()
  await aServer(socket => socket.write('"b"\n'), portOf(liveness.address))
  expect(await verdictWithin(watch, 500)).toBe(true)
})

it('never trusts an address that has not greeted it: it may mean another machine', async () => {
  const liveness = await alive('a')
  await liveness.close()
  const refused = watching(liveness.address)
  const { port } = await aServer(socket => socket.write('"b"\n'))
  const stranger = watching(`127.0.0.1:${port}`)
  expect([await verdictWithin(refused, LONG_MS), await verdictWithin(stranger, 0)]).toEqual([undefined, undefined])
})

it('trusts a local address at once', async () => {
  const liveness = await alive('a')
  await liveness.close()
  expect(await verdictWithin(watching(liveness.address, 'a', true), 500)).toBe(true)
})

it('never takes a timeout, a broken connection or half a greeting for an exit', async () => {
  const liveness = await alive('a')
  const watch = watching(liveness.address)
  await watch.greeted
  await liveness.close()
  let count = 0
  const moods = [() => undefined, (socket: Socket) => socket.destroy(), (socket: Socket) => socket.end('"')]
  await aServer(socket => {
    moods[count % moods.length]?.(socket)
    count += 1
  }, portOf(liveness.address))
  expect(await verdictWithin(watch, LONG_MS)).toBeUndefined()
})

it('keeps watching a process that closes one connection and greets the next', async () => {
  const open: Socket[] = []
  const { port } = await aServer(socket => {
    open.push(socket)
    socket.write('"a"\n')
  })
  const watch = watching(`127.0.0.1:${port}`)
  await watch.greeted
  open[0]?.destroy()
  expect(await verdictWithin(watch, 400)).toBeUndefined()
  expect(open.length).toBeGreaterThanOrEqual(2)
})

it('ends when it is aborted, with nothing left open', async () => {
  const liveness = await alive('a')
  const watch = watching(liveness.address)
  await watch.greeted
  watch.stop()
  expect(await verdictWithin(watch, 500)).toBe(false)
  await liveness.close()
})

it('never resolves for an invalid address', async () => {
  expect(await verdictWithin(watching('nonsense::', 'a', true), 100)).toBeUndefined()
})

it('cannot listen on an address of another machine', async () => {
  await expect(openLivenessServer('192.0.2.1', 'a')).rejects.toThrow()
})
