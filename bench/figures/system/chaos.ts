import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '@lcm/runtime/clock'
import { type ChaosVerdict, chaos, FAULTS } from '../../../simulation/cluster/chaos/chaos.ts'
import type { FaultVerdict } from '../../../simulation/cluster/chaos/fault-under-load.ts'
import { chaosTable } from '../../report/chaos-table.ts'
import { conclude, type Figure, never, shown } from '../../report/figures.ts'

/**
 * Real processes on three members of a real etcd, one API on SQLite, two of each controller, a cloud whose world is kept. One
 * trouble after the other, while a class comes and goes, a worker is launched and ended, and somebody writes. Counts what must
 * never happen, and tells how long it takes until all is well again. The page is written anew by a whole run only: every trouble,
 * and nothing less than the defaults.
 */
const DEFAULTS = { rounds: 1, sessions: 20, lease: 2 }
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: String(DEFAULTS.rounds) },
    sessions: { type: 'string', default: String(DEFAULTS.sessions) },
    logs: { type: 'string' },
    lease: { type: 'string', default: String(DEFAULTS.lease) },
  },
})
const [rounds, sessions, lease] = [Number(values.rounds), Number(values.sessions), Number(values.lease)]
const unknown = values.only.filter(name => !FAULTS.includes(name))
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there is ${FAULTS.join(', ')}`)

// Ends the processes that were started, which a signal alone would not.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const loadBefore = loadavg()[0] ?? 0
const verdict: ChaosVerdict = await chaos({
  only: values.only,
  rounds,
  sessions,
  ...(values.logs === undefined ? {} : { logs: values.logs }),
  leaseTtlSeconds: lease,
  say: line => console.log(`  ${line}`),
})
for (const { name, wrong } of verdict.verdicts)
  for (const [kind, all] of Object.entries(wrong)) for (const each of all) console.log(`  ${name}: ${kind}: ${each}`)

const table = chaosTable(verdict)
const isWhole = values.only.length === 0 && isNoLess()
if (isWhole) writeFileSync(fileURLToPath(new URL('../../chaos.md', import.meta.url)), page())
conclude({ bench: 'chaos', figures: verdict.verdicts.map(figureOf), details: { table, left_out: verdict.leftOut } })

function figureOf({ name, strokes, sessions, writes, wrong }: FaultVerdict): Figure {
  const counts = Object.fromEntries(Object.entries(wrong).map(([kind, all]) => [kind, all.length]))
  return never(`chaos ${name}: ${strokes} strokes, ${sessions} sessions, ${shown(writes)} acknowledged writes`, counts)
}

function isNoLess(): boolean {
  return rounds >= DEFAULTS.rounds && sessions >= DEFAULTS.sessions && lease === DEFAULTS.lease
}

/** A copy without its history can be tried too. */
function commit(): string {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  if (!existsSync(`${root}/.git`)) return 'unknown'
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--', 'packages', 'apps') !== ''
  return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`
}

function page(): string {
  const day = new Date(systemClock.now()).toISOString().slice(0, 10)
  const loads = [loadBefore, loadavg()[0] ?? 0].map(each => each.toFixed(1)).join(' before and ')
  return `# Chaos

Made by \`npm run bench -- chaos --rounds ${rounds} --sessions ${sessions} --lease ${lease}\` on ${day}, on ${commit()}, Node
${process.versions.node}, ${cpus().length} cores, load average ${loads} after it.
Real processes: three members of etcd, one API on SQLite, two of each controller, a simulated cloud. During each trouble
${sessions} sessions come and go, one licensed worker is launched and ended, and somebody writes without a pause. The next stroke
comes when all is well again: one of each controller leads, every process is ready, and a write is acknowledged.

${table}

At rest the API, the cloud and the Smart Account are compared: each license that is counted belongs to a worker that says so, and
the other way round; every move of a worker in the journal is one of the lifecycle, follows the one before, and came with a decision
in the same write; no machine came or went without such a move; no room and no port is kept for a session that is over. While
sessions come and go, no book of a worker may have more room given away than there is, or a port twice.

Not done: processes in network namespaces of their own, since each simulated machine has a loopback address, which is seen in its
own namespace only. Wires are shut by gates that swallow what is said instead. The clocks of etcd and of the cloud are never set.
`
}
