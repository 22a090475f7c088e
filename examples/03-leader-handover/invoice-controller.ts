import {
  type Clock,
  type Election,
  gone,
  leaderElected,
  poll,
  type Reconciliation,
  reconciliation,
  retry,
  success,
} from '@lcm/runtime'

export interface Invoice {
  readonly id: string
  readonly isSent: boolean
}

/** A mail gateway that takes a fencing token: it refuses every epoch below the newest one it has seen. */
export function mailGateway(clock: Clock, sendMs: number) {
  const sent: { readonly invoice: string; readonly epoch: number }[] = []
  let newestEpoch = 0
  async function send(invoice: string, epoch: number): Promise<boolean> {
    await clock.sleep(sendMs)
    if (epoch < newestEpoch) return false
    newestEpoch = epoch
    sent.push({ invoice, epoch })
    return true
  }
  return { sent, send }
}

export interface InvoiceDeps {
  readonly clock: Clock
  readonly election: Election
  readonly invoices: Map<string, Invoice>
  readonly gateway: ReturnType<typeof mailGateway>
}

/** Sends every invoice once. Only the leader works; the standby starts with the first poll of its own term. */
export function invoiceController({ clock, election, invoices, gateway }: InvoiceDeps): Reconciliation {
  const controller = reconciliation<Invoice>({
    name: 'invoice-controller',
    clock,
    triggers: [poll({ list: () => pagesOf(invoices), keyOf: ({ id }) => id, initialDelayMs: 0, intervalMs: 1_000 })],
    async reconcile(id, { epoch, leadership }) {
      const invoice = invoices.get(id)
      if (invoice === undefined) return gone('invoice was deleted')
      if (invoice.isSent) return success()
      // Checks the lease right before the effect, so that a leader that has lost it does nothing.
      if (!leadership.isHeld()) return retry('leadership was lost')
      if (!(await gateway.send(id, epoch))) return retry('a newer leader has taken over')
      invoices.set(id, { ...invoice, isSent: true })
      return success('sent')
    },
  })
  return leaderElected(controller, election)
}

async function* pagesOf(invoices: ReadonlyMap<string, Invoice>) {
  yield [...invoices.values()]
}
