// `npm run prove`: the full counts of what `npm test` only samples; takes some hours. `npm run prove -- storms=500 mutants` makes only
// the proofs named, here with another count. Keeps what came of each in bench/proof.json, and writes bench/proof.md from it.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { commitNow } from './current-commit.mjs'
import { ensureMongoWire } from './interop/mongo-server.mjs'
import { ensureEtcd } from './programs/etcd.mjs'
import { proofPage } from './proof-page.mjs'
import { ensureReady, root, writeJson } from './setup.mjs'

/** Each proof with its default count. */
const PROOFS = {
  'failover-2s': [200, n => bench('failover', '--lease', '2', '--kills', n, '--freezes', n, '--handovers', '0')],
  'failover-15s': [20, n => bench('failover', '--lease', '15', '--kills', n, '--freezes', '2', '--handovers', n)],
  replicas: [20, n => bench('replicas', '--kills', n)],
  chaos: [5, n => bench('chaos', '--rounds', n)],
  crashes: [7, n => manyCrashes('--crashes', n)],
  saves: [1_000, n => manyCrashes('--saves', n)],
  'calm-days': [200, n => manyCrashes('--calm-days', n)],
  storms: [1_000, n => manyRuns(n)],
  'six-hours': [20, n => manyRuns(n, '--hours', '6', '--workers', '10')],
  days: [200, n => manyRuns(n, '--hours', '24', '--workers', '50')],
  crowds: [3, n => manyRuns(n, '--hours', '2', '--workers', '200')],
  mutants: [1, () => simulated('--mutants')],
}

const file = join(root, 'bench/proof.json')
const selected = process.argv.slice(2).map(word => word.split('='))
const unknown = selected.find(([name, count = '1']) => !(name in PROOFS) || !/^[1-9]\d*$/.test(count))
if (unknown !== undefined) {
  console.error(`prove: unknown proof ${unknown.join('=')}. Choose from ${Object.keys(PROOFS).join(', ')}.`)
  process.exit(1)
}

await ensureReady()
await ensureEtcd()
await ensureMongoWire()
// Imported late because its packages may have just been installed. Built once: a bundle in use must not be overwritten.
const simulation = await (await import('./bundles/simulation-bundle.mjs')).simulationCommand()
for (const [name, count] of selected.length > 0 ? selected : Object.keys(PROOFS).map(each => [each])) {
  const [usual, prove] = PROOFS[name]
  console.log(`\n== ${name} ${count ?? usual}`)
  const machine = { node: process.versions.node, cores: availableParallelism() }
  const about = { at: new Date().toISOString(), commit: commitNow(), ...machine, count: Number(count ?? usual) }
  try {
    keep(name, { ...about, ...(await prove(String(count ?? usual))) })
  } catch (error) {
    console.error(`prove: ${name} ended without a result: ${error.message}`)
    process.exitCode = 1
  }
}

function keep(name, result) {
  const proofs = { ...(existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}), [name]: result }
  writeJson(file, proofs)
  writeFileSync(join(root, 'bench/proof.md'), proofPage(proofs))
}

function bench(name, ...args) {
  return lastLineOf(['--import', 'tsx', join(root, 'bench/figures/system', `${name}.ts`), ...args])
}

function simulated(...args) {
  return lastLineOf([...simulation, ...args])
}

/** Splits the seeds evenly over the cores. */
function inShares(count, simulateShare) {
  const cores = Math.min(availableParallelism(), Number(count))
  const share = core => Math.floor((Number(count) * core) / cores)
  return Promise.all(
    Array.from({ length: cores }, (_, core) => simulateShare(share(core + 1) - share(core), share(core) + 1)),
  )
}

function summed(parts) {
  return parts.reduce((sums, part) =>
    Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum + part[name]])),
  )
}

async function manyCrashes(what, count) {
  return summed(await inShares(count, (share, from) => simulated(what, share, '--from', from)))
}

async function manyRuns(count, ...size) {
  const parts = await inShares(count, (share, from) => simulated('--runs', share, '--from', from, ...size))
  const whole = summed(parts)
  const folded = name => parts.reduce((fold, part) => fold ^ BigInt(`0x${part[name]}`), 0n)
  const fingerprint = name => folded(name).toString(16).padStart(16, '0')
  return {
    ...whole,
    worker_hours_per_second: Math.round(whole.worker_hours / whole.seconds),
    longest_rest_minutes: Math.max(...parts.map(part => part.longest_rest_minutes)),
    rest_minutes_max: parts[0].rest_minutes_max,
    fingerprint: fingerprint('fingerprint'),
    behavior_fingerprint: fingerprint('behavior_fingerprint'),
    history_fingerprint: fingerprint('history_fingerprint'),
  }
}

/** Shows the output and resolves with its last line, parsed as JSON. */
function lastLineOf(args) {
  const child = spawn(process.execPath, args.map(String), { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    process.stdout.write(text)
    output += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', status => {
      if (status !== 0) process.exitCode = 1
      try {
        resolve(JSON.parse(output.trim().split('\n').at(-1)))
      } catch (error) {
        reject(error)
      }
    })
  })
}
