// A new fleet has no history: this derives a past week from its current state for the console.

const MINUTE_MS = 60_000
const WEEK = [
  { spent_usd: 212, saved_usd: 71 },
  { spent_usd: 248, saved_usd: 96 },
  { spent_usd: 197, saved_usd: 118 },
  { spent_usd: 226, saved_usd: 84 },
  { spent_usd: 64, saved_usd: 231 },
  { spent_usd: 41, saved_usd: 252 },
  { spent_usd: 133, saved_usd: 58 },
]
/** Past sessions: owner, start in minutes before now, length in minutes. */
const SESSIONS_OVER = [
  ['priya', 460, 150],
  ['maria', 410, 90],
  ['jonas', 330, 120],
  ['aiko', 285, 180],
  ['samir', 240, 60],
  ['maria', 190, 100],
  ['jonas', 150, 75],
  ['priya', 95, 60],
]
const SAMPLES = 60

/** Every page of the context then has a past. */
export async function inventPast(context) {
  const changed = (pattern, change) =>
    context.route(pattern, async route => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: await change(await answer.json(), route.request()) })
    })
  await changed('**/api/v1/fleet/summary?**', summary => ({ ...summary, cost: weekOf(summary.cost) }))
  await changed('**/api/v1/workers/*/metrics?**', list => ({ ...list, items: hourOf(list.items[0]) }))
  await changed('**/api/v1/lablet-sessions?**', async (list, request) => {
    if (!request.url().includes('status=ARCHIVED')) return list
    const headers = await request.allHeaders()
    const all = await (
      await context.request.get(new URL('/api/v1/lablet-sessions', request.url()).href, { headers })
    ).json()
    return { ...list, items: over(all.items.filter(({ status }) => status === 'RUNNING' || status === 'READY')) }
  })
}

function weekOf(cost) {
  const by_day = cost.by_day.map((day, n) => ({ ...day, ...WEEK[n] }))
  const sum = name => by_day.reduce((total, day) => total + day[name], 0)
  return { ...cost, by_day, spent_usd: sum('spent_usd'), saved_usd: sum('saved_usd') }
}

/** Newest first, as the API has it. */
function hourOf(newest) {
  return Array.from({ length: SAMPLES }, (_, n) => {
    const minute = SAMPLES - n
    const isBusy = minute > 18
    const wave = 6 * Math.sin(minute / 4) + 3 * Math.sin(minute * 1.7)
    return {
      ...newest,
      collected_at: new Date(Date.now() - n * MINUTE_MS).toISOString(),
      cpu_utilization: Math.round((isBusy ? 46 : 9) + wave),
      memory_utilization: Math.round((isBusy ? 58 + minute / 10 : 21) + wave / 4),
      disk_utilization: 31 + Math.floor(minute / 12),
      labs_count: isBusy ? (minute > 36 ? 3 : 2) : 0,
      nodes_count: isBusy ? (minute > 36 ? 26 : 14) : 0,
    }
  })
}

const over = sessions =>
  SESSIONS_OVER.map(([name, agoMinutes, minutes], n) => {
    const like = sessions[n % sessions.length]
    const startMs = Date.now() - agoMinutes * MINUTE_MS
    const [start, end] = [startMs, startMs + minutes * MINUTE_MS].map(ms => new Date(ms).toISOString())
    return {
      ...like,
      id: `ls-past-${n}`,
      status: 'ARCHIVED',
      desired_by: name,
      timeslot: { ...like.timeslot, start, end },
      entered_status_at: end,
    }
  })
