// `npm start`: set up, then `lcm up` with the arguments given.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureReady, root } from './setup.mjs'

const PARENT_CHECK_MS = 500

await ensureReady()
stopWithParent()

// In this process, not in a child: signals and the exit code need no forwarding, and a warm start pays for one Node only.
// package.json starts us by `exec`: with a shell in between, Ctrl-C ends the shell and npm reports that as a failure.
const command = join(root, 'dist', 'lcm.mjs')
process.argv.splice(1, 1, command, 'up')
await import(pathToFileURL(command).href)

/** npm killed with -9 can't pass the signal on; without this the product would keep running unnoticed and hold its port. */
function stopWithParent() {
  if (!process.env.npm_lifecycle_event) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_CHECK_MS)
  timer.unref()
}
