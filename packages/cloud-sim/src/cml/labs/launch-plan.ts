/** Resources that a node needs. Points are hundredths of a core, needed only while it boots. */
export interface LaunchNeed {
  readonly key: string
  readonly ram_mib: number
  readonly points: number
  /** Earliest time to leave the queue. */
  readonly not_before_ms: number
  readonly boot_ms: number
}

/** Resources in use, with their end. */
export interface Taken {
  readonly ram_mib: number
  readonly ram_until_ms: number
  readonly points: number
  readonly points_until_ms: number
}

export interface HostCapacity {
  readonly ram_mib: number
  readonly points: number
}

export interface Launch {
  readonly started_ms: number
  readonly booted_ms: number
}

/**
 * Plans when each node leaves the queue: in order, but a node that fits may pass one that doesn't. A node without an
 * entry waits for capacity. Planning again later gives the same plan if nothing else changed.
 */
export function planLaunches(
  queue: readonly LaunchNeed[],
  taken: readonly Taken[],
  host: HostCapacity,
  nowMs: number,
): ReadonlyMap<string, Launch> {
  const plan = new Map<string, Launch>()
  const held = [...taken]
  let waiting = queue
  let atMs: number | null = nowMs
  while (waiting.length > 0 && atMs !== null) {
    const left: LaunchNeed[] = []
    for (const need of waiting) {
      if (!fits(need, held, { host, atMs })) {
        left.push(need)
        continue
      }
      const started_ms = Math.max(atMs, need.not_before_ms)
      const booted_ms = started_ms + need.boot_ms
      plan.set(need.key, { started_ms, booted_ms })
      held.push({
        ram_mib: need.ram_mib,
        ram_until_ms: Number.POSITIVE_INFINITY,
        points: need.points,
        points_until_ms: booted_ms,
      })
    }
    waiting = left
    atMs = nextReleaseMs(held, atMs)
  }
  return plan
}

/** A node that needs more points than the host has boots alone. */
function fits(need: LaunchNeed, held: readonly Taken[], { host, atMs }: { host: HostCapacity; atMs: number }): boolean {
  let ram = need.ram_mib
  let points = 0
  for (const one of held) {
    if (one.ram_until_ms > atMs) ram += one.ram_mib
    if (one.points_until_ms > atMs) points += one.points
  }
  const hasPoints = need.points === 0 || points === 0 || points + need.points <= host.points
  return hasPoints && (need.ram_mib === 0 || ram <= host.ram_mib)
}

function nextReleaseMs(held: readonly Taken[], afterMs: number): number | null {
  let soonest = Number.POSITIVE_INFINITY
  for (const { ram_until_ms, points_until_ms } of held) {
    if (ram_until_ms > afterMs) soonest = Math.min(soonest, ram_until_ms)
    if (points_until_ms > afterMs) soonest = Math.min(soonest, points_until_ms)
  }
  return Number.isFinite(soonest) ? soonest : null
}
