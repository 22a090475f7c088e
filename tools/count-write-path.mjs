// `npm run write-path`: counts the source files that one write runs through, from `POST /workers` to the EC2 call and back to the
// console's event stream.
//
// The product runs from its sources, all services in one process, on the simulated cloud, which is not counted. A browser session
// creates workers, one after another. Before each, an idle window of the same length is counted. A file counts when one of its
// functions (not its top level) was called more often during the write than while idle, in every round. So periodic work doesn't
// count, and files that both need do.
//
// `--list` names the files. `--root FOLDER` measures another checkout, with `--entry FILE` if its command is elsewhere.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const ROUNDS = 5
const QUIET_MS = 3_000
const WAIT_MS_MAX = 120_000
const IDLE_MS_FIRST = 2_000
const NOT_COUNTED = /^packages\/cloud-sim\//
const here = fileURLToPath(new URL('..', import.meta.url))

const { values: options } = parseArgs({
  options: {
    root: { type: 'string', default: here },
    entry: { type: 'string', default: 'apps/lcm/src/main.ts' },
    list: { type: 'boolean', default: false },
  },
})
const root = resolve(options.root)
const data = mkdtempSync(join(tmpdir(), 'lcm-write-path-'))
const product = startProduct()
process.once('exit', () => {
  product.kill('SIGKILL')
  rmSync(data, { recursive: true, force: true })
})

const stream = await openConsole()
await settled()
await write('warm-up')
const rounds = []
let windowMs = IDLE_MS_FIRST
for (let round = 1; round <= ROUNDS; round += 1) {
  await settled()
  await calls()
  await sleep(windowMs)
  const idle = await calls()
  const startedAt = performance.now()
  await write(`round-${round}`)
  windowMs = Math.round(performance.now() - startedAt)
  rounds.push({ idle, busy: await calls() })
  process.stderr.write(`write-path: round ${round} took ${windowMs} ms\n`)
}
report(rounds.map(causedBy).reduce((all, each) => all.filter(call => each.includes(call))))
product.kill('SIGTERM')
await once(product, 'exit')

/** Calls that were more frequent than in the idle window, as `file function@offset`. */
function causedBy({ idle, busy }) {
  return [...busy].flatMap(([call, count]) => (count > (idle.get(call) ?? 0) ? [call] : []))
}

function report(calls) {
  const files = [...new Set(calls.map(call => call.split(' ')[0]))].filter(file => !NOT_COUNTED.test(file)).sort()
  const packages = new Map()
  for (const name of files.map(file => file.split('/').slice(0, 2).join('/')))
    packages.set(name, (packages.get(name) ?? 0) + 1)
  if (options.list) for (const file of files) console.log(file)
  for (const [name, count] of packages) console.log(`${String(count).padStart(4)}  ${name}`)
  const everRan = new Set(rounds.flatMap(({ busy }) => [...busy.keys()].map(call => call.split(' ')[0])))
  const ran = [...everRan].filter(file => !NOT_COUNTED.test(file)).length
  console.log(`${String(files.length).padStart(4)}  files (${ran} with the periodic work in these windows)`)
}

function startProduct() {
  const ports = ['--port', '0', '--sim-port', '0', '--speed', '600']
  const args = ['--import', 'tsx', '--import', join(here, 'tools/call-counter-preload.mjs'), join(root, options.entry)]
  return spawn(process.execPath, [...args, 'up', '--data', data, ...ports], {
    cwd: root,
    env: { ...process.env, CALLS_ROOT: `${pathToFileURL(root).href}/`, LCM_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
}

/** Calls since the last read. */
async function calls() {
  product.send('calls')
  const [files] = await once(product, 'message')
  return new Map(files.flatMap(([file, functions]) => functions.map(([name, count]) => [`${file} ${name}`, count])))
}

/** Logs in as the printed link does and follows the events as the console does. */
async function openConsole() {
  let printed = ''
  product.stdout.setEncoding('utf8').on('data', text => {
    printed += text
  })
  const link = await until('a login link', () => /http:\S+\/#\/sign-in\?code=\S+/.exec(printed)?.[0])
  const { origin, hash } = new URL(link)
  const login = await fetch(`${origin}/login`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ code: hash.split('code=')[1] }),
  })
  const cookie = login.headers
    .getSetCookie()
    .map(each => each.split(';')[0])
    .join('; ')
  const events = await fetch(`${origin}/api/v1/events`, { headers: { cookie } })
  const workers = new Map()
  const seen = { origin, cookie, workers, lastAt: performance.now() }
  void follow(events, event => {
    if (!event.type.startsWith('worker.') || event.data === null) return
    workers.set(event.id, event.data)
    seen.lastAt = performance.now()
  })
  return seen
}

async function follow(response, take) {
  let rest = ''
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = `${rest}${text}`.split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) {
      const line = block.split('\n').find(each => each.startsWith('data:'))
      if (line !== undefined) take(JSON.parse(line.slice(5)))
    }
  }
}

/** Creates a worker and resolves once its instance id has arrived on the event stream. */
async function write(name) {
  const { origin, cookie, workers } = stream
  const response = await fetch(`${origin}/api/v1/workers`, {
    method: 'POST',
    headers: { cookie, origin, 'content-type': 'application/json', 'idempotency-key': name },
    body: JSON.stringify({ template_name: 'metal', name }),
  })
  const { id } = await response.json()
  if (response.status !== 201) throw new Error(`POST /workers answered ${response.status}`)
  await until(`the machine of ${name}`, () => workers.get(id)?.ec2_instance_id)
}

/** No worker has changed for a while. */
async function settled() {
  await until('a quiet fleet', () => performance.now() - stream.lastAt > QUIET_MS)
}

async function until(what, read) {
  for (const startedAt = Date.now(); ; await sleep(10)) {
    const found = await read()
    if (found) return found
    if (product.exitCode !== null) throw new Error(`the product ended with ${product.exitCode}`)
    if (Date.now() - startedAt > WAIT_MS_MAX) throw new Error(`${what} is missing after ${WAIT_MS_MAX} ms`)
  }
}
