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
const { SIM_CRASH_SEEDS = '7', SIM_RUNS = '10000', SIM_SESSIONS = '200', SIM_SESSIONS_LARGE = '3' } = process.env
const SIMULATIONS = [
  [
    'a controller dies before or after one port call of a path, for every call of every path',
    '--crashes',
    SIM_CRASH_SEEDS,
  ],
  ['people, faults and crashes at random in a hostile cloud, until the fleet is at rest again', '--runs', SIM_RUNS],
  ['learners, lost machines and changing leaders at random, until every session has ended', '--sessions', SIM_SESSIONS],
  ['the same with 1,000 sessions on 200 workers', '--large', '--sessions', SIM_SESSIONS_LARGE],
]
const simulated = SIMULATIONS.map(([what, ...args]) => {
  console.log(`\n== simulation ${args.join(' ')}`)
  const command = ['--import', 'tsx', join(root, 'simulation/main.ts'), ...args]
  const { status, stdout } = spawnSync(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  process.stdout.write(stdout)
  if (status !== 0) process.exitCode = 1
  return { what, ...JSON.parse(stdout.toString().trim().split('\n').at(-1)) }
})

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
const line = values => `| ${values.join(' | ')} |`
const page = `# Proof

Made by \`npm run prove\` on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, two cores. Real processes on a real
etcd; somebody changes their mind before every loss. Times are p50 / p99 / max, from the signal to the successor's accepted term.

${[line(HEAD), line(HEAD.map(() => '---')), ...rows.map(row => line(cells(row)))].join('\n')}

Two replicas of the API on one MongoDB-wire server and one etcd, killed in turns in the middle of writes:

    ${storm}

The whole system on virtual time, with what must hold checked every virtual second:

| what | runs | failures |
| --- | --- | --- |
${simulated.map(({ what, runs, failures }) => line([what, runs, failures])).join('\n')}
`
writeFileSync(join(root, 'bench/proof.md'), page)
