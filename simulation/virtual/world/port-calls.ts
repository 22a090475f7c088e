import type { VirtualTime } from '@lcm/testkit/virtual-time'
import { faultPoints, never, type When } from '../faults/fault-points.ts'
import { type FreezableProcess, freezableProcess } from './freezable-process.ts'

export interface Incarnation extends FreezableProcess {
  /** Counts each call by its name, and lets none through once the process is dead. */
  watch<A extends readonly unknown[], R>(
    nameOf: (...args: A) => string,
    call: (...args: A) => Promise<R>,
  ): (...args: A) => Promise<R>
  watchAll<P extends object>(port: string, methods: P): P
  end(): void
}

/**
 * The calls between a controller and its ports. A crash before call k means that the call was never made; a crash after it, that it
 * took effect and its response was lost.
 */
export interface PortCalls {
  incarnation(): Incarnation
  readonly made: number
  /** The names of the calls so far, in order. */
  readonly names: readonly string[]
  /** Runs `act` before or after that call, with the incarnation that makes it: `act` may kill or freeze it. */
  crashAt(call: number, when: When, act: (caller: Incarnation) => void): void
}

export function portCalls(time: VirtualTime): PortCalls {
  const names: string[] = []
  const planned = faultPoints<Incarnation>()

  function incarnation(): Incarnation {
    const process = freezableProcess(time.clock)
    let alive = true
    const watch = <A extends readonly unknown[], R>(
      nameOf: (...args: A) => string,
      call: (...args: A) => Promise<R>,
    ) => {
      return async (...args: A): Promise<R> => {
        if (!alive) return never()
        const index = names.push(nameOf(...args)) - 1
        planned.trigger(index, 'before', own)
        await process.awake()
        if (!alive) return never()
        const answer = await settled(call(...args))
        planned.trigger(index, 'after', own)
        await process.awake()
        if (!alive) return never()
        if ('error' in answer) throw answer.error
        return answer.value
      }
    }
    const own: Incarnation = {
      ...process,
      watch,
      watchAll(port, methods) {
        const watched = Object.entries(methods).map(([name, method]) => [
          name,
          watch((...args) => nameOf(port, name, args), method),
        ])
        return { ...methods, ...Object.fromEntries(watched) }
      },
      end() {
        alive = false
      },
    }
    return own
  }

  return {
    incarnation,
    get made() {
      return names.length
    },
    names,
    crashAt: (call, when, act) =>
      planned.plan(call, when, caller => {
        time.trace(`fault ${when} call ${call} ${names[call]}`)
        act(caller)
      }),
  }
}

/** A power call is named after its action. */
const nameOf = (port: string, name: string, args: readonly unknown[]): string =>
  name === 'power' ? `${port}.${String(args[1])}` : `${port}.${name}`

/** Calls that only read: crashes at most of them are equivalent. */
const READ_CALLS = [
  /^api\.GET (?!secrets)|^api\.POST metrics/,
  /^ec2\.(describe|list|newestImage|imageIds)/,
  /^cml\.(?!register|deregister)/,
  /^cloudwatch\./,
  /^labs\.(get|list|nodes|isConverged|consoleLog|download)/,
]

export const isRead = (name: string): boolean => READ_CALLS.some(pattern => pattern.test(name))

async function settled<R>(promise: Promise<R>): Promise<{ value: R } | { error: unknown }> {
  try {
    return { value: await promise }
  } catch (error) {
    return { error }
  }
}
