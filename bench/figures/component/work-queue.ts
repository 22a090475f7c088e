/** Figure 2.6: no-op reconciles through the whole loop against a bare Map-and-array queue, in one run on one core. */
import { reconciliation, success, systemClock, type TriggerContext } from '@lcm/runtime'
import { atLeast, conclude, shown } from '../../report/figure-report.ts'
import { median, rounded } from '../../report/quantiles.ts'

const KEYS = 100_000
const ROUNDS = 21
/** Warm-up: without known keys and compiled code the first round is about half as fast. */
const WARM_UPS = 5
const BAR_PERCENT = 20
const BAR_PER_SECOND = 200_000

const keys = Array.from({ length: KEYS }, (_, index) => `worker-${index}`)
const result = success()

/** Minimal queue with unique keys in order, which awaits the same no-op. */
async function bareRound(): Promise<number> {
  const noop = async () => result
  const queued = new Map<string, true>()
  const line: string[] = []
  const startedAt = systemClock.monotonic()
  for (const key of keys) {
    if (queued.has(key)) continue
    queued.set(key, true)
    line.push(key)
  }
  for (const key of line) {
    await noop()
    queued.delete(key)
  }
  return systemClock.monotonic() - startedAt
}

function openLoop() {
  let left = 0
  let finish: () => void = () => undefined
  let trigger: TriggerContext | undefined
  const stop = new AbortController()
  const loop = reconciliation({
    name: 'bench',
    clock: systemClock,
    triggers: [
      {
        name: 'bench',
        run: async context => {
          trigger = context
        },
      },
    ],
    reconcile: async () => {
      left -= 1
      if (left === 0) finish()
      return result
    },
  })
  const over = loop.run(stop.signal)
  const round = async () => {
    left = KEYS
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    const startedAt = systemClock.monotonic()
    for (const key of keys) trigger?.add(key, 'bench')
    await finished
    return systemClock.monotonic() - startedAt
  }
  const close = () => {
    stop.abort()
    return over
  }
  return { round, close }
}

const perSecond = (ms: number) => Math.round((KEYS / ms) * 1_000)

const { round, close } = openLoop()
const rounds: { bareMs: number; loopMs: number }[] = []
for (let count = 0; count < ROUNDS; count += 1) {
  globalThis.gc?.()
  const bareMs = await bareRound()
  globalThis.gc?.()
  rounds.push({ bareMs, loopMs: await round() })
}
await close()

const warm = rounds.slice(WARM_UPS)
const bare = perSecond(median(warm.map(({ bareMs }) => bareMs)))
const percent = rounded(median(warm.map(({ bareMs, loopMs }) => bareMs / loopMs)) * 100)
const work = 'add + hand out + done, no-op reconcile through the whole loop, one core'
conclude({
  bench: 'work-queue',
  figures: [
    atLeast(`${work}, of a bare Map-and-array queue`, BAR_PERCENT, { value: percent, unit: '%' }),
    atLeast(work, BAR_PER_SECOND, {
      value: perSecond(median(warm.map(({ loopMs }) => loopMs))),
      unit: '/s',
      more: `bare ${shown(bare)}/s`,
    }),
  ],
})
