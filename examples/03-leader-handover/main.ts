/** Run it with `node --import tsx examples/03-leader-handover/main.ts`: `a` leads, stops after 3 s, and `b` takes over. */
import { localCoordination } from '@lcm/coordination/local/coordination'
import { systemClock as clock } from '@lcm/runtime'
import { type Invoice, invoiceController, mailGateway } from './invoice-controller.ts'

const { election } = localCoordination({ clock, firstEpoch: () => 1 })
const invoices = new Map<string, Invoice>()
const gateway = mailGateway(clock, 100)
const add = (id: string) => invoices.set(id, { id, isSent: false })
const start = (id: string) => {
  const stop = new AbortController()
  const deps = { clock, election: election('invoice-controller', id), invoices, gateway }
  return { stop, ended: invoiceController(deps).run(stop.signal) }
}

const [a, b] = [start('a'), start('b')]
add('first')
await clock.sleep(3_000)
a.stop.abort()
await a.ended
add('second')
await clock.sleep(3_000)
process.stdout.write(`${JSON.stringify(gateway.sent)}\n`)
b.stop.abort()
await b.ended
