import type { VirtualTime } from '@lcm/testkit/virtual-time'

/** A process died: whatever waits for an answer waits for ever. */
const NEVER = new Promise<never>(() => undefined)

export interface Life {
  /** Counts each call by its name, and lets none through once the process is dead. */
  watch<A extends readonly unknown[], R>(
    nameOf: (...args: A) => string,
    call: (...args: A) => Promise<R>,
  ): (...args: A) => Promise<R>
  watchAll<P extends object>(port: string, methods: P): P
  end(): void
}

/**
 * The seam between a controller and everything outside of it. A crash before call k means that it was never made; after, that
 * it had its effect and nobody heard of it.
 */
export interface PortCalls {
  life(): Life
  readonly made: number
  /** The names of the calls so far, in order. */
  readonly names: readonly string[]
  crashAt(call: number, when: 'before' | 'after', crash: () => void): void
}

export function portCalls(time: VirtualTime): PortCalls {
  const names: string[] = []
  let plan: { call: number; when: 'before' | 'after'; crash: () => void } | null = null

  function crashes(call: number, when: 'before' | 'after'): boolean {
    if (plan?.call !== call || plan.when !== when) return false
    const { crash } = plan
    plan = null
    time.trace(`crash ${when} call ${call} ${names[call]}`)
    crash()
    return true
  }

  function life(): Life {
    let alive = true
    const watch = <A extends readonly unknown[], R>(
      nameOf: (...args: A) => string,
      call: (...args: A) => Promise<R>,
    ) => {
      return async (...args: A): Promise<R> => {
        if (!alive) return NEVER
        const index = names.push(nameOf(...args)) - 1
        if (crashes(index, 'before')) return NEVER
        const answer = await settled(call(...args))
        if (crashes(index, 'after') || !alive) return NEVER
        if ('error' in answer) throw answer.error
        return answer.value
      }
    }
    return {
      watch,
      watchAll(port, methods) {
        const watched = Object.entries(methods).map(([name, method]) => [name, watch(() => `${port}.${name}`, method)])
        return { ...methods, ...Object.fromEntries(watched) }
      },
      end() {
        alive = false
      },
    }
  }

  return {
    life,
    get made() {
      return names.length
    },
    names,
    crashAt(call, when, crash) {
      plan = { call, when, crash }
    },
  }
}

async function settled<R>(promise: Promise<R>): Promise<{ value: R } | { error: unknown }> {
  try {
    return { value: await promise }
  } catch (error) {
    return { error }
  }
}
