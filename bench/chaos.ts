import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type ChaosVerdict, chaos, TROUBLES } from '@lcm/host/testing/chaos/chaos'
import type { TroubleVerdict } from '@lcm/host/testing/chaos/under-load'
import { systemClock } from '@lcm/runtime/clock'
import { chaosTable } from './report/chaos-table.ts'
import { conclude, type Figure, never, shown } from './report/figures.ts'

/**
 * Real processes on three members of a real etcd, one API on SQLite, two of each controller, a cloud whose world is kept. One
 * trouble after the other, while a class comes and goes, a worker is launched and ended, and somebody writes. Counts what must
 * never happen, and tells how long it takes until all is well again.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '1' },
    sessions: { type: 'string', default: '20' },
    logs: { type: 'string' },
    lease: { type: 'string', default: '2' },
  },
})
const unknown = values.only.filter(name => !TROUBLES.includes(name))
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there is ${TROUBLES.join(', ')}`)

// Ends the processes that were started, which a signal alone would not.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const verdict: ChaosVerdict = await chaos({
  only: values.only,
  rounds: Number(values.rounds),
  sessions: Number(values.sessions),
  ...(values.logs === undefined ? {} : { logs: values.logs }),
  leaseTtlSeconds: Number(values.lease),
  say: line => console.log(`  ${line}`),
})
for (const { name, wrong } of verdict.verdicts)
  for (const [kind, all] of Object.entries(wrong)) for (const each of all) console.log(`  ${name}: ${kind}: ${each}`)

const table = chaosTable(verdict)
if (values.only.length === 0) writeFileSync(fileURLToPath(new URL('chaos.md', import.meta.url)), page())
conclude({ bench: 'chaos', figures: verdict.verdicts.map(figureOf), details: { table, left_out: verdict.leftOut } })

function figureOf({ name, strokes, sessions, writes, wrong }: TroubleVerdict): Figure {
  const counts = Object.fromEntries(Object.entries(wrong).map(([kind, all]) => [kind, all.length]))
  return never(`chaos ${name}: ${strokes} strokes, ${sessions} sessions, ${shown(writes)} acknowledged writes`, counts)
}

function page(): string {
  const day = new Date(systemClock.now()).toISOString().slice(0, 10)
  return `# Chaos

Made by \`npm run bench -- chaos\` on ${day}, Node ${process.versions.node}, ${cpus().length} cores, lease ${values.lease} s.
Real processes: three members of etcd, one API on SQLite, two of each controller, a simulated cloud. During each trouble
${values.sessions} sessions come and go, one worker is launched and ended, and somebody writes without a pause. The next stroke
comes when all is well again: one of each controller leads, every process is ready, and a write is acknowledged.

${table}
`
}
