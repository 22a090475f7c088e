// Loaded before a service by `node --import`: its wall clock is wrong by the milliseconds in a file. Timers and the monotonic
// clock are not affected, as when an operator sets the clock of the machine.
import { readFileSync } from 'node:fs'
import { ServerResponse } from 'node:http'

const file = new URL(import.meta.url).searchParams.get('file') ?? ''
const TrueDate = Date
const { now: trueNow } = TrueDate

function wrongByMs() {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

const now = () => trueNow() + wrongByMs()
globalThis.Date = new Proxy(TrueDate, {
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  construct: (target, args) => (args.length === 0 ? new target(now()) : new target(...args)),
  apply: target => new target(now()).toString(),
})

// The `date` header of Node comes from a separate clock.
const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function (...args) {
  if (this.sendDate && !this.hasHeader('date')) this.setHeader('date', new TrueDate(now()).toUTCString())
  return writeHead.apply(this, args)
}
