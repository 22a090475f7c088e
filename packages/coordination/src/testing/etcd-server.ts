import { type SpawnOptionsWithStdioTuple, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '@lcm/runtime/clock'
import type { EtcdTls } from '../etcd/client/connection.ts'
import { etcdAdmin } from './etcd-admin.ts'

export interface EtcdServerOptions {
  readonly members?: 1 | 3
  /** Further arguments for every member. */
  readonly args?: readonly string[]
  /** Client side of TLS; the server's certificate paths go into `args`. */
  readonly tls?: EtcdTls
  /** Address under which other members reach a member, by its name and listen address. */
  readonly peerWay?: (name: string, address: string) => Promise<string>
}

/** Checks the quota at every write: by default etcd checks its size every 100 ms, in which a fast disk takes 10 MB. */
export const diskQuota = (bytes: number) => ['--quota-backend-bytes', String(bytes), '--backend-batch-limit', '1']

/** A real etcd on the loopback interface with its own data folder, which is deleted at the end. */
export interface EtcdServer {
  readonly endpoints: readonly string[]
  readonly members: readonly EtcdMember[]
  /** The member that leads the others. */
  leader(): Promise<EtcdMember>
  close(): Promise<void>
}

export interface EtcdMember {
  readonly name: string
  readonly endpoint: string
  /** Member id. */
  id(): Promise<bigint>
  /** Id of the leader it knows; 0 for none. */
  leaderId(): Promise<bigint>
  /** kill -9; resolves when the process has exited. */
  kill(): Promise<void>
  /** Stops the process, but its sockets stay open. */
  freeze(): void
  thaw(): void
  /** Starts it again with its data. */
  restart(): Promise<void>
}

/**
 * Runs the command and prints its pid. A line `kill` ends the command, `end` the guard too. When the parent dies, its
 * end of the pipe closes: then the command ends and its folder is deleted.
 */
const GUARD = `
folder=$1 log=$2
shift 2
"$@" >>"$log" 2>&1 </dev/null &
pid=$!
echo "$pid"
while read -r line; do
  kill -9 "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  echo dead
  if [ "$line" = end ]; then exit 0; fi
done
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
rm -rf "$folder"
`
const TIMEOUT_MS = 20_000
const POLL_MS = 20

interface Plan {
  readonly name: string
  readonly folder: string
  readonly clientPort: number
  readonly peerPort: number
  /** Address for other members. */
  readonly peerAddress: string
}

/** Resolves when all members have found a leader. */
export async function startEtcd(options: EtcdServerOptions = {}): Promise<EtcdServer> {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-etcd-'))
  const count = options.members ?? 1
  const ports = await freePorts(2 * count)
  const plans: Plan[] = []
  for (let index = 0; index < count; index += 1) {
    const [clientPort = 0, peerPort = 0] = ports.slice(2 * index)
    const [name, address] = [`m${index}`, `127.0.0.1:${peerPort}`]
    const peerAddress = (await options.peerWay?.(name, address)) ?? address
    plans.push({ name, folder, clientPort, peerPort, peerAddress })
  }
  const members = plans.map(plan => memberOf(plan, plans, options))
  const close = async () => {
    await Promise.all(members.map(member => member.end()))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await Promise.all(members.map(member => member.restart()))
  } catch (error) {
    await close()
    throw error
  }
  const leader = async () => {
    const statuses = await Promise.all(members.map(async member => ({ member, ...(await statusOf(member, options)) })))
    const found = statuses.find(({ memberId, leaderId }) => memberId === leaderId)
    if (found === undefined) throw new Error('no member leads')
    return found.member
  }
  return { endpoints: members.map(({ endpoint }) => endpoint), members, leader, close }
}

interface GuardedMember extends EtcdMember {
  end(): Promise<void>
}

function memberOf(plan: Plan, plans: readonly Plan[], options: EtcdServerOptions): GuardedMember {
  const scheme = options.tls === undefined ? 'http' : 'https'
  const endpoint = `127.0.0.1:${plan.clientPort}`
  const command = ['etcd', ...argumentsOf(plan, plans, scheme), ...(options.args ?? [])]
  const log = join(plan.folder, `${plan.name}.log`)
  let guard: Guard | undefined
  const member: GuardedMember = {
    name: plan.name,
    endpoint,
    id: async () => (await statusOf(member, options)).memberId,
    leaderId: async () => (await statusOf(member, options)).leaderId,
    kill: async () => guard?.order('kill'),
    freeze: () => guard?.signal('SIGSTOP'),
    thaw: () => guard?.signal('SIGCONT'),
    async end() {
      await guard?.order('end')
      guard = undefined
    },
    async restart() {
      await member.end()
      guard = await guarded(plan.folder, log, command)
      await untilLed(member, options, log)
    },
  }
  return member
}

interface Guard {
  signal(name: NodeJS.Signals): void
  /** Resolves when the command is dead. */
  order(what: 'kill' | 'end'): Promise<void>
}

async function guarded(folder: string, log: string, command: readonly string[]): Promise<Guard> {
  // A process group of its own, so that an interrupt at the keyboard ends the tests first and the guard then.
  const options: SpawnOptionsWithStdioTuple<'pipe', 'pipe', 'ignore'> = {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  }
  const { stdin, stdout } = spawn('sh', ['-c', GUARD, 'guard', folder, log, ...command], options)
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const nextLine = async () => (await lines.next()).value
  const pid = Number(await nextLine())
  let isDead = false
  return {
    signal(name) {
      if (!isDead) process.kill(pid, name)
    },
    async order(what) {
      isDead = true
      stdin.write(`${what}\n`)
      await nextLine()
    },
  }
}

function argumentsOf(plan: Plan, plans: readonly Plan[], scheme: string): string[] {
  const { name, folder, clientPort, peerPort, peerAddress } = plan
  const client = `${scheme}://127.0.0.1:${clientPort}`
  const cluster = plans.map(each => `${each.name}=http://${each.peerAddress}`).join(',')
  return [
    ...['--name', name, '--data-dir', join(folder, name), '--initial-cluster', cluster],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', `http://127.0.0.1:${peerPort}`, '--initial-advertise-peer-urls', `http://${peerAddress}`],
  ]
}

const statusOf = async ({ endpoint }: EtcdMember, { tls }: EtcdServerOptions) => {
  const admin = etcdAdmin(endpoint, { timeoutMs: 1_000, ...(tls === undefined ? {} : { tls }) })
  try {
    return await admin.status()
  } finally {
    admin.close()
  }
}

async function untilLed(member: EtcdMember, options: EtcdServerOptions, log: string): Promise<void> {
  const deadline = systemClock.monotonic() + TIMEOUT_MS
  for (;;) {
    const status = await statusOf(member, options).catch(() => undefined)
    if (status !== undefined && status.leaderId !== 0n) return
    if (systemClock.monotonic() > deadline) {
      const tail = readFileSync(log, 'utf8').split('\n').slice(-10).join('\n')
      throw new Error(
        `etcd did not begin within ${TIMEOUT_MS} ms; node tools/programs/etcd.mjs installs it. Its output:\n${tail}`,
      )
    }
    await systemClock.sleep(POLL_MS)
  }
}

/** All ports are held open until all are known, so that none is used twice. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      server =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject)
          server.listen(0, '127.0.0.1', () => {
            const address = server.address()
            resolve(typeof address === 'object' && address !== null ? address.port : 0)
          })
        }),
    ),
  )
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
