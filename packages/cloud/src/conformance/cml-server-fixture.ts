import { afterEach, beforeEach, expect } from 'vitest'
import type { CmlLabs } from '../cml-labs.ts'
import type { CmlLogin } from '../cml-login.ts'
import type { CmlProbe, CmlSystem } from '../cml-system.ts'
import { CloudError, type CloudErrorClass } from '../errors.ts'

/** A fresh cloud for one test with one machine that was just launched, and both ports to its CML server. */
export interface CmlServerFixture {
  readonly cml: CmlSystem
  readonly labs: CmlLabs
  /** Current address of the machine's CML; null while it has none. */
  endpoint(): string | null
  /** Advances time to the machine's next change, and returns once that is visible. False when there is none. */
  toNextChange(): Promise<boolean>
  /** Advances the cloud's time. */
  advance(ms: number): Promise<void>
  /** Stops the machine and starts it again, and returns when it runs. */
  restart(): Promise<void>
  /** An administrator account of the server. */
  readonly account: { readonly username: string; readonly password: string }
  /** One token that the Smart Account accepts, and one that it does not know. */
  readonly tokens: { readonly good: string; readonly bad: string }
  /** Drops every session, as a password change or a restart of the API does. */
  forgetSessions(): Promise<void>
  setSmartAccountReachable(isReachable: boolean): Promise<void>
  /** Whether the server collects telemetry. */
  setTelemetry(isOn: boolean): Promise<void>
  /** Paths that the server rejects for every user, such as `/telemetry`. */
  setRefusedPaths(paths: readonly string[]): Promise<void>
  /** A learner types a line on the console of a booted node, given by its label. */
  typeOn(typed: { readonly lab_id: string; readonly node: string; readonly line: string }): Promise<void>
  close(): Promise<void>
}

export type GetCmlServer = () => CmlServerFixture

export const OTHER_PIN = 'f'.repeat(64)
const NOWHERE = 'https://127.0.0.1:1'
const STEP_MS = 5_000
const STEPS_MAX = 1_000

/** One server for each test of the surrounding suite. */
export function cmlServerPerTest(open: () => Promise<CmlServerFixture>): GetCmlServer {
  let opened: CmlServerFixture | undefined
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(async () => {
    await opened?.close()
    opened = undefined
  })
  return () => {
    if (!opened) throw new Error('the server exists only while a test runs')
    return opened
  }
}

export const never = (): AbortSignal => new AbortController().signal

export function probe(
  { cml, endpoint }: CmlServerFixture,
  certificate_sha256: string | null = null,
): Promise<CmlProbe> {
  return cml.probe({ url: endpoint() ?? NOWHERE, certificate_sha256 }, never())
}

/** Boots the server and returns a login. */
export async function bootAndLogIn(server: CmlServerFixture): Promise<CmlLogin> {
  do {
    // Waits for each change.
  } while (await server.toNextChange())
  const { stage, certificate_sha256 } = await probe(server)
  expect(stage).toBe('READY')
  return { url: server.endpoint() ?? NOWHERE, certificate_sha256, ...server.account }
}

/** Advances time until `read` returns a value, and returns it. */
export async function eventually<Seen>(
  server: CmlServerFixture,
  read: () => Promise<Seen>,
  isAwaited: (seen: Seen) => boolean,
): Promise<Seen> {
  for (let step = 0; step < STEPS_MAX; step++) {
    const seen = await read()
    if (isAwaited(seen)) return seen
    await server.advance(STEP_MS)
  }
  throw new Error(`no value within ${(STEPS_MAX * STEP_MS) / 1000} s`)
}

/** Advances time until a call that the server delays has ended. */
export async function whileTimePasses<Answer>(server: CmlServerFixture, call: Promise<Answer>): Promise<Answer> {
  let isOver = false
  const ended = Promise.allSettled([call]).then(() => {
    isOver = true
  })
  while (!isOver) {
    await server.advance(100)
    await new Promise(setImmediate)
  }
  await ended
  return call
}

export async function expectRefusal(call: Promise<unknown>, errorClass: CloudErrorClass): Promise<CloudError> {
  const refusal: unknown = await call.then(
    answer => expect.fail(`was not refused: ${JSON.stringify(answer)}`),
    error => error,
  )
  expect(refusal).toMatchObject({ name: 'CloudError', errorClass })
  return refusal instanceof CloudError ? refusal : expect.fail('not an error')
}

/** A topology of that many small nodes. */
export function topologyOf(nodeCount: number, tags: readonly string[] = []): string {
  const node = (index: number) => ({
    id: `n${index}`,
    label: `server-${index}`,
    node_definition: 'server',
    x: 40 * index,
    y: 0,
    interfaces: [{ id: 'i0', label: 'eth0', slot: 0, type: 'physical' }],
    tags,
  })
  const link = (index: number) => ({ id: `l${index}`, n1: `n${index}`, i1: 'i0', n2: `n${index + 1}`, i2: 'i0' })
  // JSON is YAML too. Every interface has at most one link.
  return JSON.stringify({
    lab: { version: '0.3.0', title: 'as exported', description: '', notes: '' },
    nodes: Array.from({ length: nodeCount }, (_, index) => node(index)),
    links: nodeCount > 1 ? [link(0)] : [],
  })
}
