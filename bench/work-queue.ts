/** Figure 2.6: no-op reconciles through the whole loop against a bare Map-and-array queue, in one run on one core. */
import { reconciliation, success, systemClock, type TriggerContext } from '@lcm/runtime'

const KEYS = 100_000
const ROUNDS = 21
const BAR_RATIO = 0.2
const BAR_PER_SECOND = 200_000

const keys = Array.from({ length: KEYS }, (_, index) => `worker-${index}`)
const result = success()

/** The least that keeps keys apart, in order, and awaits the same no-op. */
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
  let hands: TriggerContext | undefined
  const stop = new AbortController()
  const loop = reconciliation({
    name: 'bench',
    clock: systemClock,
    triggers: [
      {
        name: 'bench',
        run: async context => {
          hands = context
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
    for (const key of keys) hands?.add(key, 'bench')
    await finished
    return systemClock.monotonic() - startedAt
  }
  const close = () => {
    stop.abort()
    return over
  }
  return { round, close }
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
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

const warm = rounds.slice(5)
const figures = {
  figure: 'work-queue',
  bare_per_second: perSecond(median(warm.map(({ bareMs }) => bareMs))),
  loop_per_second: perSecond(median(warm.map(({ loopMs }) => loopMs))),
  ratio: Number(median(warm.map(({ bareMs, loopMs }) => bareMs / loopMs)).toFixed(3)),
}
const isMet = figures.ratio >= BAR_RATIO && figures.loop_per_second >= BAR_PER_SECOND
process.stdout.write(
  `${[
    `add + hand out + done, ${KEYS} keys, median of ${warm.length} rounds`,
    `  bare Map and array   ${figures.bare_per_second}/s`,
    `  reconciliation loop  ${figures.loop_per_second}/s   (bar >= ${BAR_PER_SECOND}/s)`,
    `  ratio                ${(figures.ratio * 100).toFixed(1)} %   (bar >= ${BAR_RATIO * 100} %)`,
    JSON.stringify({ ...figures, met: isMet }),
  ].join('\n')}\n`,
)
process.exitCode = isMet ? 0 : 1
