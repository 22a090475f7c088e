import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '@lcm/runtime/clock'
import { type ChaosVerdict, chaos, FAULTS } from '../../../simulation/cluster/chaos/chaos.ts'
import type { FaultVerdict } from '../../../simulation/cluster/chaos/fault-under-load.ts'
import { chaosTable } from '../../report/chaos-table.ts'
import { conclude, type Figure, never, shown } from '../../report/figure-report.ts'

/**
 * Real processes on three members of a real etcd, one API on SQLite, two of each controller, a simulated cloud with stored state.
 * Injects one fault after the other while sessions come and go, a worker is launched and terminated, and a client writes. Counts
 * violations and measures the recovery. Only a complete run with at least the defaults rewrites the page.
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
if (unknown.length > 0) throw new Error(`unknown fault ${unknown.join(', ')}; known: ${FAULTS.join(', ')}`)

// Exits, so that the child processes are killed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const loadBefore = loadavg()[0] ?? 0
const verdict: ChaosVerdict = await chaos({
  only: values.only,
  rounds,
  sessions,
  ...(values.logs === undefined ? {} : { logs: values.logs }),
  leaseTtlSeconds: lease,
  print: line => console.log(`  ${line}`),
})
for (const { name, wrong } of verdict.verdicts)
  for (const [kind, all] of Object.entries(wrong)) for (const each of all) console.log(`  ${name}: ${kind}: ${each}`)

const table = chaosTable(verdict)
const isWhole = values.only.length === 0 && isNoLess()
if (isWhole) writeFileSync(fileURLToPath(new URL('../../chaos.md', import.meta.url)), page())
conclude({ bench: 'chaos', figures: verdict.verdicts.map(figureOf), details: { table, left_out: verdict.leftOut } })

function figureOf({ name, steps, sessions, writes, wrong }: FaultVerdict): Figure {
  const counts = Object.fromEntries(Object.entries(wrong).map(([kind, all]) => [kind, all.length]))
  return never(`chaos ${name}: ${steps} steps, ${sessions} sessions, ${shown(writes)} acknowledged writes`, counts)
}

function isNoLess(): boolean {
  return rounds >= DEFAULTS.rounds && sessions >= DEFAULTS.sessions && lease === DEFAULTS.lease
}

/** Unknown in a copy without git history. */
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
Real processes: three members of etcd, one API on SQLite, two of each controller, a simulated cloud. During each fault
${sessions} sessions come and go, one licensed worker is launched and terminated, and a client writes without a pause. The next step
follows the recovery: each controller has a leader, every process is ready, and a write is acknowledged.

${table}

After each fault the API, the cloud and the Smart Account are compared: each license in use belongs to a worker that reports it, and
the other way round; every move of a worker in the journal is legal, follows the previous one, and has a decision in the same write;
no machine was launched or terminated without such a move; no capacity and no port is reserved for an ended session. While sessions
come and go, no worker may reserve more capacity than it has, or a port twice.

Not done: processes in separate network namespaces, because each simulated machine has a loopback address, which is visible in one
namespace only. Proxies that drop all data cut connections instead. The clocks of etcd and of the cloud are never set.
`
}
