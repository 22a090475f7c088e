import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '@lcm/runtime/clock'
import { MongoClient } from 'mongodb'

/** What speaks MongoDB's protocol: the server in MONGODB_URI, or one of our own on the loopback interface, in memory. */
export interface MongoServer {
  readonly uri: string
  /** Null for a server that is not ours to stop. */
  readonly process: { freeze(): void; thaw(): void; kill(): Promise<void> } | null
  /** A name that nobody else uses. The database goes when the server is closed. */
  database(): string
  close(): Promise<void>
}

const TOOL = fileURLToPath(new URL('../../../../tools/mongo-wire.mjs', import.meta.url))

/** Answers when the driver gets an answer. */
export async function startMongo(): Promise<MongoServer> {
  // By running it, since nothing imports the tools.
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

/** It ends with its input, so it never outlives this process, however that ends. */
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
