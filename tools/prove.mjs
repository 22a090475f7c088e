// `npm run prove`: the full counts of what `npm test` only samples. Writes bench/proof.md; takes some hours.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureEtcd } from './etcd.mjs'
import { ensureMongoWire } from './mongo-wire.mjs'
import { ensureReady, root } from './setup.mjs'

const FAILOVERS = [
  ['--lease', '2', '--kills', '200', '--freezes', '200', '--handovers', '0'],
  ['--lease', '15', '--kills', '20', '--freezes', '2', '--handovers', '20'],
]

await ensureReady()
await ensureEtcd()
await ensureMongoWire()
const rows = FAILOVERS.map(args => {
  console.log(`\n== failover ${args.join(' ')}`)
  const command = ['--import', 'tsx', join(root, 'bench/failover.ts'), ...args]
  const { status, stdout } = spawnSync(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  process.stdout.write(stdout)
  if (status !== 0) process.exitCode = 1
  return JSON.parse(stdout.toString().trim().split('\n').at(-1))
})

console.log('\n== replicas --kills 20')
const replicas = spawnSync(process.execPath, ['--import', 'tsx', join(root, 'bench/replicas.ts'), '--kills', '20'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.stdout.write(replicas.stdout)
if (replicas.status !== 0) process.exitCode = 1
const storm = replicas.stdout.toString().trim().split('\n').at(-1)

// The environment may ask for other counts than these.
const {
  SIM_CRASH_SEEDS = '7',
  SIM_RUNS = '10000',
  SIM_SEEDS = '200',
  SIM_HOURS = '24',
  SIM_WORKERS = '50',
  SIM_LARGE_SEEDS = '3',
} = process.env
function simulated(what, ...args) {
  console.log(`\n== simulation ${args.join(' ')}`)
  const command = ['--max-semi-space-size=64', '--import', 'tsx', join(root, 'simulation/main.ts'), ...args]
  const { status, stdout } = spawnSync(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  process.stdout.write(stdout)
  if (status !== 0) process.exitCode = 1
  return { what, ...JSON.parse(stdout.toString().trim().split('\n').at(-1)) }
}
const crashes = simulated(
  'a controller dies before or after one port call of a path, for every call of every path',
  '--crashes',
  SIM_CRASH_SEEDS,
)
const LARGE = ['--runs', SIM_LARGE_SEEDS, '--hours', '2', '--workers', '200']
const whole = [
  simulated('half an hour with 3 workers, something every half minute', '--runs', SIM_RUNS),
  simulated(
    `${SIM_HOURS} hours with ${SIM_WORKERS} workers, calm and storms`,
    ...['--runs', SIM_SEEDS, '--hours', SIM_HOURS, '--workers', SIM_WORKERS],
  ),
  simulated('2 hours with 200 workers', ...LARGE),
]
const { hunts } = simulated('mutants', '--mutants')

const times = ({ count, p50_ms, p99_ms, max_ms }) =>
  count === 0 ? '-' : `${count}: ${p50_ms} / ${p99_ms} / ${max_ms} ms`
const HEAD = [
  'lease',
  'kill -9',
  'SIGTERM',
  'freeze past the lease',
  'terms',
  'writes',
  'stale writes accepted',
  'machines astray',
]
const cells = row => [
  `${row.lease_seconds} s`,
  times(row.kill),
  times(row.handover),
  times(row.freeze),
  row.terms,
  row.writes,
  row.staleWritesAccepted,
  row.machinesAstray,
]
const WHOLE_HEAD = [
  ...['what', 'runs', 'violations', 'virtual hours', 'worker-hours', 'worker-hours per s'],
  ...['launches', 'sessions', 'crashes', 'faults', 'longest way to rest'],
]
const wholeCells = row => [
  ...[row.what, row.runs, row.failures, row.virtual_hours, row.worker_hours, row.worker_hours_per_second],
  ...[row.launches, row.sessions, row.kills, row.faults, `${row.longest_rest_minutes} min`],
]
const line = values => `| ${values.join(' | ')} |`
const page = `# Proof

Made by \`npm run prove\` on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, two cores. Real processes on a real
etcd; somebody changes their mind before every loss. Times are p50 / p99 / max, from the signal to the successor's accepted term.

${[line(HEAD), line(HEAD.map(() => '---')), ...rows.map(row => line(cells(row)))].join('\n')}

Two replicas of the API on one MongoDB-wire server and one etcd, killed in turns in the middle of writes:

    ${storm}

The whole system on virtual time:

| what | runs | failures |
| --- | --- | --- |
${line([crashes.what, crashes.runs, crashes.failures])}

People, hands and faults at random, until everything is at rest again. Seconds are those of one core.

${[line(WHOLE_HEAD), line(WHOLE_HEAD.map(() => '---')), ...whole.map(row => line(wholeCells(row)))].join('\n')}

Defects on purpose, each of which must be found within 60 s:

| mutant | what it breaks | seed | seconds | found by |
| --- | --- | --- | --- | --- |
${hunts.map(({ mutant, breaks, seed, seconds, found }) => line([mutant, breaks, seed, seconds, found])).join('\n')}
`
writeFileSync(join(root, 'bench/proof.md'), page)
