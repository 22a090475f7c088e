import { countText } from '@lcm/domain/text/format-amounts'
import { useComputed } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { type FleetSummary, summaryOf } from '../../state/fleet-summary.ts'
import { canSeeAllSessions, readsAsLearner } from '../../state/permission.ts'
import type { Query } from '../../state/router.ts'
import { useSessions } from '../session/use-sessions.ts'
import { AttentionCard, LearnersAttentionCard } from './attention-card.tsx'
import { CapacityCard } from './capacity-card.tsx'
import { CostCard } from './cost-card.tsx'
import { FirstSteps } from './first-steps.tsx'
import { FleetCard } from './fleet-card.tsx'
import { TodayCard } from './today-sessions-card.tsx'

const STEP_MS = 5_000

export function OverviewPage(_: { query: Query }) {
  const { state, nowMs } = useConsole()
  const { live } = state
  const workers = [...live.worker.all().values()]
  const sessions = [...live.session.all().values()]
  const withPast = useSessions().all
  // Rounded: nothing on this page needs a re-render every second.
  const steps = useComputed(() => Math.floor(nowMs.value / STEP_MS) * STEP_MS)
  const summary = summaryOf(workers)
  const seesAll = canSeeAllSessions(state.info.value)
  // Terminated workers are held too, so an empty list means a new installation.
  const isNew = workers.length === 0 && withPast.length === 0
  return (
    <section class="page overview">
      <header class="page-head">
        <h1 tabIndex={-1}>Overview</h1>
        <p class="muted">
          {isNew
            ? 'Welcome. There are no workers yet.'
            : headText(summary, sessions.filter(session => session.status === 'RUNNING').length, seesAll)}
        </p>
      </header>
      <FirstSteps hasWorker={summary.present > 0} hasDefinition={live.definition.all().size > 0} />
      {readsAsLearner(state.info.value) ? (
        <LearnersAttentionCard sessions={sessions} nowMs={steps.value} />
      ) : (
        <AttentionCard workers={workers} sessions={sessions} nowMs={steps.value} />
      )}
      {!isNew && (
        <>
          <div class="overview-cards">
            <FleetCard summary={summary} />
            <CapacityCard workers={workers} />
            <CostCard usdPerHour={summary.usdPerHour} unknownPrices={summary.unknownPrices} nowMs={steps.value} />
          </div>
          <TodayCard sessions={withPast} nowMs={steps.value} />
        </>
      )}
    </section>
  )
}

/** Users who see only their own sessions get the count of these. */
function headText({ present, running }: FleetSummary, sessionCount: number, seesAll: boolean): string {
  const inUse = `${countText(sessionCount, 'session')}${seesAll ? '' : ' of yours'} in use now`
  return `${countText(present, 'worker')}, ${running} running · ${inUse}`
}
