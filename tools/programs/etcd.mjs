// Finds a real etcd for the suites that need one. Plain Node.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ensureProgram } from './ensure-program.mjs'

/** Resolves with the path of `etcd`. Rejects with one sentence that says how to get it. */
export function ensureEtcd() {
  return ensureProgram({
    programs: ['etcd'],
    debianPackage: 'etcd-server',
    service: 'etcd',
    howToGetIt:
      'etcd is not on the PATH; install etcd-server (Debian, Ubuntu), or put the binary from github.com/etcd-io/etcd/releases there.',
  })
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    console.log(await ensureEtcd())
  } catch (error) {
    console.error(`etcd: ${error.message}`)
    process.exitCode = 1
  }
}
