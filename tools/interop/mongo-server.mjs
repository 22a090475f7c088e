// Finds a server that speaks MongoDB's protocol for the suites that need one; with a JDK and Maven it builds one. Plain Node.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cache, run } from '../setup.mjs'

const POM = `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lcm</groupId>
  <artifactId>mongo-wire</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>de.bwaldvogel</groupId>
      <artifactId>mongo-java-server</artifactId>
      <version>1.47.0</version>
    </dependency>
  </dependencies>
</project>
`
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies'
/** The driver refuses servers older than 4.4, so a newer version is claimed; what the store uses of it is the same. */
const MAIN = `import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

public final class MongoWire implements MongoVersion {
  public List<Integer> getVersionArray() {
    return List.of(5, 0, 0);
  }

  public int getWireVersion() {
    return 13;
  }

  public static void main(String[] arguments) throws Exception {
    MongoServer server = new MongoServer(new MemoryBackend().version(new MongoWire()));
    server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
    System.out.println("mongodb://127.0.0.1:" + server.getLocalAddress().getPort());
    while (System.in.read() != -1) {}
    System.exit(0);
  }
}
`
const HOW_TO_GET_IT =
  'a server that speaks MongoDB is needed: set MONGODB_URI to one, or install a JDK (17 or newer) and Maven to have one built'
const TAIL_LINES = 10
/** It serves few and small documents and should start fast. */
const JAVA_OPTIONS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dslf4j.internal.verbosity=ERROR']

/**
 * Resolves with `{ uri }` of the server in MONGODB_URI, which wins, or with `{ command }`: run with a port as its last
 * argument (0 for any), it prints its address when it is ready and ends when its standard input does. Rejects with one sentence.
 */
export async function ensureMongoWire() {
  const uri = process.env.MONGODB_URI
  if (uri) return { uri }
  const folder = join(cache, `mongo-wire-${hashOfSources()}`)
  if (!existsSync(folder)) await build(folder)
  const classPath = [join(folder, 'classes'), join(folder, 'lib', '*')].join(delimiter)
  return { command: ['java', ...JAVA_OPTIONS, '-cp', classPath, 'MongoWire'] }
}

function hashOfSources() {
  return createHash('sha256').update(POM).update(MAIN).digest('hex').slice(0, 12)
}

/** Builds beside and swaps, so that the folder is there whole or not at all. */
async function build(folder) {
  mkdirSync(cache, { recursive: true })
  const beside = mkdtempSync(`${folder}.`)
  const [lib, pom, main] = ['lib', 'pom.xml', 'MongoWire.java'].map(name => join(beside, name))
  writeFileSync(pom, POM)
  writeFileSync(main, MAIN)
  try {
    const copy = [COPY_DEPENDENCIES, '-DincludeScope=runtime', `-DoutputDirectory=${lib}`]
    await step('mvn', ['--quiet', '--batch-mode', '--file', pom, ...copy])
    await step('javac', ['-cp', join(lib, '*'), '-d', join(beside, 'classes'), main])
    renameSync(beside, folder)
  } catch (error) {
    rmSync(beside, { recursive: true, force: true })
    // Another process may have built it at the same time.
    if (!existsSync(folder)) throw error
  }
}

async function step(command, args) {
  const { code, output } = await run(command, args).catch(error => ({ code: 1, output: error.message }))
  if (code === 0) return
  const tail = output.trimEnd().split('\n').slice(-TAIL_LINES)
  throw new Error(`${HOW_TO_GET_IT}; ${command} failed with:\n${tail.map(line => `  ${line}`).join('\n')}`)
}

/** With a port it serves there until it is interrupted; without one it prints how to start the server. */
async function main([port]) {
  const server = await ensureMongoWire()
  if (port === undefined || server.uri) return console.log(JSON.stringify(server))
  const [command, ...args] = server.command
  spawn(command, [...args, port], { stdio: ['pipe', 'inherit', 'inherit'] }).on('error', fail)
}

function fail(error) {
  console.error(`mongo-wire: ${error.message}`)
  process.exitCode = 1
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main(process.argv.slice(2)).catch(fail)
