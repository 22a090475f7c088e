import { connect, type Socket } from 'node:net'
import type { Clock } from '@lcm/runtime'
import { type HostAndPort, parseAddress } from '../client/endpoint.ts'
import { greetingOf } from '../client/liveness.ts'

export interface ProcessWatchOptions {
  readonly clock: Clock
  readonly address: string
  readonly instanceId: string
  /** That the address is of this machine is known without a greeting. */
  readonly isOfThisMachine: boolean
  readonly signal: AbortSignal
  /** Called when a connection to the process stands: from now on its death is noticed. */
  onGreeted?(): void
}

/**
 * What one connect tells. Only `refused` and `stranger` speak for death: the machine answers, and says that nobody or
 * somebody else lives there. Silence, unreachable networks and cut connections say nothing.
 */
export type Contact =
  | { readonly kind: 'greeted'; readonly socket: Socket }
  | { readonly kind: 'refused' | 'stranger' | 'unclear' }

const CONNECT_MS = 1_000
/** Two fresh connects within 200 ms. */
const JUDGE_CONNECT_MS = 80
const JUDGE_PAUSE_MS = 30
const TRY_AGAIN_MS = 1_000
/** Somebody who was there is missed: the next look decides. */
const LOOK_AGAIN_MS = 200
const GREETING_CHARACTERS_MAX = 1_000

/**
 * Resolves with true once the process behind the address is dead, with false when `signal` aborts first. It judges only
 * an address where it was greeted by that very process before: an address that means another machine from here, such as
 * a loopback address of another host, never greets and so never counts.
 */
export async function processDeath(options: ProcessWatchOptions): Promise<boolean> {
  const { clock, signal } = options
  let mayJudge = options.isOfThisMachine
  while (!signal.aborted) {
    const contact = await touch(options, CONNECT_MS)
    if (contact.kind === 'greeted') {
      mayJudge = true
      options.onGreeted?.()
      await closed(contact.socket, signal)
    }
    if (!signal.aborted && mayJudge && (await isDead(options))) return true
    if (contact.kind !== 'greeted') await clock.sleep(mayJudge ? LOOK_AGAIN_MS : TRY_AGAIN_MS, signal)
  }
  return false
}

async function isDead(options: ProcessWatchOptions): Promise<boolean> {
  const first = await touch(options, JUDGE_CONNECT_MS)
  if (!speaksForDeath(first)) return false
  await options.clock.sleep(JUDGE_PAUSE_MS, options.signal)
  return speaksForDeath(await touch(options, JUDGE_CONNECT_MS)) && !options.signal.aborted
}

/** Leaves no connection open. */
function speaksForDeath(contact: Contact): boolean {
  if (contact.kind === 'greeted') contact.socket.destroy()
  return contact.kind === 'refused' || contact.kind === 'stranger'
}

/** One connect, up to the greeting. */
function touch({ clock, address, instanceId, signal }: ProcessWatchOptions, patienceMs: number): Promise<Contact> {
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
    const cancelTimer = clock.after(patienceMs, giveUp)
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
