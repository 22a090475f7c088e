import { localCoordination } from '@lcm/coordination/local/coordination'
import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { type Invoice, invoiceController, mailGateway } from './invoice-controller.ts'

const SEND_MS = 100

/** Two instances, `a` and `b`, of one controller; `a` campaigns first and leads. */
async function twoInstances() {
  const clock = manualClock()
  const { election, faults } = localCoordination({ clock, firstEpoch: () => 1 })
  const invoices = new Map<string, Invoice>()
  const gateway = mailGateway(clock, SEND_MS)
  const start = (id: string) => {
    const stop = new AbortController()
    const seat = election('invoice-controller', id)
    const ended = invoiceController({ clock, election: seat, invoices, gateway }).run(stop.signal)
    return { stop, ended, state: () => seat.status().state }
  }
  const [a, b] = [start('a'), start('b')]
  await clock.advance(0)
  const add = (...ids: readonly string[]) => {
    for (const id of ids) invoices.set(id, { id, isSent: false })
  }
  const close = async () => {
    for (const { stop } of [a, b]) stop.abort()
    await Promise.all([a.ended, b.ended, clock.advance(60_000)])
  }
  return { clock, faults, gateway, a, b, add, close }
}

it('hands over when the leader stops, and the next leader sends only the remaining invoices', async () => {
  const { clock, gateway, a, b, add, close } = await twoInstances()
  add('first')
  await clock.advance(2_000)
  expect([a.state(), b.state()]).toEqual(['LEADER', 'STANDBY'])
  a.stop.abort()
  await Promise.all([a.ended, clock.advance(1_000)])
  add('second')
  await clock.advance(5_000)
  expect(b.state()).toBe('LEADER')
  expect(gateway.sent).toEqual([
    { invoice: 'first', epoch: 1 },
    { invoice: 'second', epoch: 2 },
  ])
  await close()
})

it('sends nothing twice when the leader loses its lease without noticing', async () => {
  const { clock, faults, gateway, add, close } = await twoInstances()
  add('first', 'second', 'third')
  // For 10 s the former leader believes that it still leads, and the gateway refuses its epoch.
  faults.loseLease('invoice-controller', { noticedAfterMs: 10_000 })
  await clock.advance(30_000)
  expect(gateway.sent.map(({ invoice }) => invoice).toSorted()).toEqual(['first', 'second', 'third'])
  expect(new Set(gateway.sent.map(({ epoch }) => epoch))).toEqual(new Set([2]))
  await close()
})
