import type { Meter } from '@lcm/runtime'

export interface Counters<Name extends string> {
  add(name: Name, count?: number): void
  /** Each as `<name>_count`. */
  snapshot(): Readonly<Record<string, number>>
}

/** Counts since the process started, for `/admin/stats` and as `<prefix>_<name>_total` for Prometheus. */
export function counters<Name extends string>(
  meter: Meter,
  prefix: string,
  help: Readonly<Record<Name, string>>,
): Counters<Name> {
  const counts = new Map<string, number>(Object.keys(help).map(name => [name, 0]))
  const metered = new Map(
    Object.entries<string>(help).map(([name, text]) => [name, meter.counter(`${prefix}_${name}_total`, text)]),
  )
  return {
    add(name, count = 1) {
      counts.set(name, (counts.get(name) ?? 0) + count)
      metered.get(name)?.add(count)
    },
    snapshot: () => Object.fromEntries([...counts].map(([name, count]) => [`${name}_count`, count])),
  }
}
