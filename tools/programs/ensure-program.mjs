// Finds programs that Debian packages, for the suites that need them; as root on Debian and its like it installs them. Plain Node.
import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const APT_GET = '/usr/bin/apt-get'
/** Asked by Debian's packages before they start a service; 101 forbids it. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d'
const INSTALL_TIMEOUT_MS = 5 * 60_000
const TAIL_LINES = 10

/**
 * Resolves with the path of the first of these programs that is there. Rejects with one sentence that says how to get it.
 * `service` is what its package runs.
 */
export async function ensureProgram({ programs, debianPackage, service, howToGetIt }) {
  const found = find(programs)
  if (found) return found
  if (!existsSync(APT_GET) || process.getuid?.() !== 0) throw new Error(howToGetIt)
  await withoutServiceStarts(() => install(debianPackage))
  if (service && existsSync('/run/systemd/system')) await quietly('systemctl', ['disable', '--now', service])
  const installed = find(programs)
  if (installed) return installed
  throw new Error(
    `apt-get installed ${debianPackage}, yet there is no ${programs[0]} on the PATH; look for it with dpkg -L ${debianPackage}.`,
  )
}

function find(programs) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  return programs.flatMap(program => folders.filter(Boolean).map(folder => join(folder, program))).find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function install(debianPackage) {
  const args = ['-qq', '-y', '-o', 'DPkg::Lock::Timeout=120', '--no-install-recommends', 'install', debianPackage]
  if ((await quietly(APT_GET, args)).code === 0) return
  // The package lists of a fresh machine are empty or old.
  await quietly(APT_GET, ['-qq', 'update'])
  const { code, output } = await quietly(APT_GET, args)
  if (code === 0) return
  const tail = output.trimEnd().split('\n').slice(-TAIL_LINES)
  throw new Error(
    `apt-get install ${debianPackage} failed; the last lines it printed:\n${tail.map(line => `  ${line}`).join('\n')}`,
  )
}

/** A package may start a service of its own and start it again with the machine: the tests start theirs. */
async function withoutServiceStarts(work) {
  const isOurs = !existsSync(SERVICE_POLICY)
  if (isOurs) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await work()
  } finally {
    if (isOurs) rmSync(SERVICE_POLICY, { force: true })
  }
}

function quietly(command, args) {
  return new Promise(resolve => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: INSTALL_TIMEOUT_MS })
    let output = ''
    const collect = chunk => {
      output += chunk
    }
    child.stdout.setEncoding('utf8').on('data', collect)
    child.stderr.setEncoding('utf8').on('data', collect)
    child.on('error', error => resolve({ code: 1, output: error.message }))
    child.on('close', code => resolve({ code: code ?? 1, output }))
  })
}
