import { useConsole } from '../../parts/console-context.ts'
import { PageState } from '../../parts/shell/page-states.tsx'
import { useRead } from '../../parts/use-read.ts'
import type { Info } from '../../state/live-state.ts'
import type { Query } from '../../state/router.ts'
import { DecisionFeedCard } from './decision-feed-card.tsx'
import { FaultsCard } from './faults-card.tsx'
import { MachinesCard } from './machines-card.tsx'
import { RequestLogCard } from './request-log-card.tsx'
import { useSim } from './use-sim.ts'

export function ChaosPage(_: { query: Query }) {
  const { state } = useConsole()
  const info = state.info.value
  const base = info?.actor.role === 'admin' ? info.sim_control : null
  return base === null ? <NotAvailable info={info} /> : <Chaos base={base} />
}

const EVERY_MS = 1_000

function Chaos({ base }: { base: string }) {
  const sim = useSim(base)
  const faults = useRead('faults', (_client, signal) => sim.client.faults(signal), { everyMs: EVERY_MS })
  return (
    <section class="page chaos">
      <header class="headline">
        <div>
          <h1 tabIndex={-1}>Chaos</h1>
          <p class="muted">Inject faults into the simulated cloud and watch LCM recover.</p>
        </div>
      </header>
      <div class="columns">
        <div>
          <MachinesCard sim={sim} />
          <FaultsCard sim={sim} faults={faults} />
          <RequestLogCard sim={sim} />
        </div>
        <DecisionFeedCard userActions={sim.userActions} />
      </div>
    </section>
  )
}

function NotAvailable({ info }: { info: Info | null }) {
  if (info?.cloud === 'sim' && info.actor.role !== 'admin')
    return (
      <PageState icon="lock" title="Not available for your role">
        <p>Only administrators can inject faults into the simulated cloud.</p>
      </PageState>
    )
  return (
    <PageState icon="flask" title="No simulated cloud">
      <p>
        {info?.cloud === 'sim' ? 'The simulated cloud runs in another process. ' : 'LCM runs on a real cloud. '}
        This page needs the cloud that <code>lcm up --cloud sim</code> starts.
      </p>
    </PageState>
  )
}
