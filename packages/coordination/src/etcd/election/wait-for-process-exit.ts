import { connect, type Socket } from 'node:net'
import type { Clock } from '@lcm/runtime'
import { type HostAndPort, parseAddress } from '../client/endpoint.ts'
import { greetingOf } from './liveness-server.ts'

export interface ProcessExitOptions {
  readonly clock: Clock
  readonly address: string
  readonly instanceId: string
  /** The address is known to belong to this machine, without a greeting. */
  readonly isLocal: boolean
  readonly signal: AbortSignal
  /** Called when a connection is established: from now on an exit is detected. */
  onGreeted?(): void
}

/**
 * Result of one connect. Only `refused` and `stranger` prove an exit: the machine responds, and no process or another
 * one listens. Timeouts, unreachable networks and broken connections prove nothing.
 */
export type Contact =
  | { readonly kind: 'greeted'; readonly socket: Socket }
  | { readonly kind: 'refused' | 'stranger' | 'unclear' }

const CONNECT_MS = 1_000
/** Two fresh connects within 200 ms. */
const CHECK_CONNECT_MS = 80
const CHECK_PAUSE_MS = 30
const RETRY_MS = 1_000
/** Delay after a lost connection; the next attempt decides. */
const RECHECK_MS = 200
const GREETING_CHARACTERS_MAX = 1_000

/**
 * Resolves with true once the process behind the address has exited, with false when `signal` aborts first. It trusts
 * only an address where that very process has greeted it before: an address that means another machine from here, such
 * as a loopback address of another host, never greets and so never counts.
 */
export async function waitForProcessExit(options: ProcessExitOptions): Promise<boolean> {
  const { clock, signal } = options
  let isTrusted = options.isLocal
  while (!signal.aborted) {
    const contact = await connectOnce(options, CONNECT_MS)
    if (contact.kind === 'greeted') {
      isTrusted = true
      options.onGreeted?.()
      await closed(contact.socket, signal)
    }
    if (!signal.aborted && isTrusted && (await hasExited(options))) return true
    if (contact.kind !== 'greeted') await clock.sleep(isTrusted ? RECHECK_MS : RETRY_MS, signal)
  }
  return false
}

async function hasExited(options: ProcessExitOptions): Promise<boolean> {
  const first = await connectOnce(options, CHECK_CONNECT_MS)
  if (!provesExit(first)) return false
  await options.clock.sleep(CHECK_PAUSE_MS, options.signal)
  return provesExit(await connectOnce(options, CHECK_CONNECT_MS)) && !options.signal.aborted
}

/** Closes the connection. */
function provesExit(contact: Contact): boolean {
  if (contact.kind === 'greeted') contact.socket.destroy()
  return contact.kind === 'refused' || contact.kind === 'stranger'
}

/** One connect, up to the greeting. */
function connectOnce({ clock, address, instanceId, signal }: ProcessExitOptions, timeoutMs: number): Promise<Contact> {
  const target = readAddress(address)
  if (target === undefined) return Promise.resolve({ kind: 'unclear' })
  return new Promise(resolve => {
    const socket = connect(target)
    let heard = ''
    let isSettled = false
    const settle = (contact: Contact) => {
      if (isSettled) return
      isSettled = true
      cancelTimer()
      signal.removeEventListener('abort', giveUp)
      if (contact.kind !== 'greeted') socket.destroy()
      resolve(contact)
    }
    const giveUp = () => settle({ kind: 'unclear' })
    const cancelTimer = clock.after(timeoutMs, giveUp)
    signal.addEventListener('abort', giveUp)
    socket.unref()
    socket.setEncoding('utf8')
    socket.on('error', error =>
      settle({ kind: 'code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'unclear' }),
    )
    socket.on('close', giveUp)
    socket.on('data', text => {
      heard = (heard + text).slice(0, GREETING_CHARACTERS_MAX)
      if (heard.includes('\n'))
        settle(heard === greetingOf(instanceId) ? { kind: 'greeted', socket } : { kind: 'stranger' })
    })
  })
}

function readAddress(address: string): HostAndPort | undefined {
  try {
    return parseAddress(address)
  } catch {
    return undefined
  }
}

function closed(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      signal.removeEventListener('abort', end)
      socket.destroy()
      resolve()
    }
    socket.on('close', end)
    signal.addEventListener('abort', end)
    if (socket.destroyed || signal.aborted) end()
  })
}
