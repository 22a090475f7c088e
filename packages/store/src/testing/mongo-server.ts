import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '@lcm/runtime/clock'
import { MongoClient } from 'mongodb'

/** A server that speaks MongoDB's protocol: the one in MONGODB_URI, or an in-memory one on the loopback interface. */
export interface MongoServer {
  readonly uri: string
  /** Null for a server that tests must not stop. */
  readonly process: { freeze(): void; thaw(): void; kill(): Promise<void> } | null
  /** A unique database name. The database is dropped when the server is closed. */
  database(): string
  close(): Promise<void>
}

const TOOL = fileURLToPath(new URL('../../../../tools/interop/mongo-server.mjs', import.meta.url))

/** Resolves when the driver gets a response. */
export async function startMongo(): Promise<MongoServer> {
  // Run as a process, because nothing may import the tools.
  const { stdout } = await promisify(execFile)(process.execPath, [TOOL])
  const found: { uri?: string; command?: string[] } = JSON.parse(stdout)
  const started = found.command === undefined ? null : await spawned(found.command)
  const uri = found.uri ?? started?.uri ?? ''
  await asked(uri, client => client.db('admin').command({ ping: 1 }))
  const databases: string[] = []
  return {
    uri,
    process: started,
    database() {
      const name = `lcm-test-${process.pid}-${systemClock.now().toString(36)}-${databases.length}`
      databases.push(name)
      return name
    },
    async close() {
      if (started !== null) return started.kill()
      await asked(uri, client => Promise.all(databases.map(name => client.db(name).dropDatabase())))
    },
  }
}

async function asked(uri: string, work: (client: MongoClient) => Promise<unknown>): Promise<void> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 10_000 })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}

/** The server ends with its standard input, so it never outlives this process. */
async function spawned([command = '', ...args]: readonly string[]) {
  const child = spawn(command, [...args, '0'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  const uri = await firstLine(child)
  return {
    uri,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function firstLine(child: ChildProcess & { stdout: NodeJS.ReadableStream }): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => reject(new Error(`the MongoDB-wire server ended with ${code} before it was ready`)))
    createInterface({ input: child.stdout }).once('line', resolve)
  })
}
