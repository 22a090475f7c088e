import { affectedSessions } from '@lcm/domain/fleet/affected-sessions'
import { isAtRisk } from '@lcm/domain/fleet/lost-promises'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { nextOfSession, sessionNextText } from '@lcm/domain/session/session-next-step'
import { durationText } from '@lcm/domain/text/format-amounts'
import { toneOf } from '@lcm/domain/text/status-tone'
import type { Worker } from '@lcm/domain/worker/worker'
import type { ComponentChildren } from 'preact'
import { Age } from '../../../parts/age.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { RawJson } from '../../../parts/raw-json.tsx'
import { Sentence } from '../../../parts/sentence.tsx'
import { NotFound, PageState } from '../../../parts/shell/page-states.tsx'
import { ConditionsCard } from '../../../parts/status/conditions-card.tsx'
import { HealthCallout } from '../../../parts/status/health-callout.tsx'
import { SessionBadge, shownStatus } from '../../../parts/status/status-badge.tsx'
import { type NextInputs, NextStep, useWhy, WhyPanel } from '../../../parts/why-panel.tsx'
import { canSeeAllSessions, readsAsLearner } from '../../../state/permission.ts'
import { definitionHash, pageHash, workerHash } from '../../../state/router.ts'
import { SessionActions } from '../actions/action-buttons.tsx'
import { Owner } from '../owner.tsx'
import { activityText, isWaiting, learnerTextOf } from '../session-text.ts'
import { useSession } from '../use-sessions.ts'
import { AccessCard } from './access-card.tsx'
import { PipelineCard } from './pipeline-card.tsx'
import { SavesCard } from './saves-card.tsx'
import { SessionFacts, SessionHistory } from './session-facts-and-history.tsx'
import { SlotCard } from './timeslot-card.tsx'

export function SessionPage({ id }: { id: string }) {
  const { session, isMissing, error, reload } = useSession(id)
  const { state } = useConsole()
  if (isMissing) return <NoSuchSession id={id} />
  if (session === null) return error === null ? <Reading /> : <LoadFailed id={id} error={error} onRetry={reload} />
  return readsAsLearner(state.info.value) ? (
    <LearnersSession session={session} />
  ) : (
    <OperatorsSession session={session} />
  )
}

/** Learners read what concerns them, and not how LCM decides. */
const LearnersSession = ({ session }: { session: LabletSession }) => (
  <Layout
    session={session}
    callouts={
      <>
        <LearnerCallout session={session} />
        {isFinal(session.status) && <LastError session={session} />}
      </>
    }
  />
)

function OperatorsSession({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const { id, worker_id, health } = session
  const worker = worker_id === null ? null : (state.live.worker.get(worker_id) ?? null)
  const why = useWhy({
    resource: `session:${id}`,
    next: inputs => nextStep(session, worker, inputs),
    read: (client, query, signal) => client.call('getSessionDecisions', { params: { id }, query, signal }),
  })
  // The advice to look at this session leads nowhere from its own page.
  const fix = affectedSessions([session])[0]?.fix ?? null
  return (
    <Layout
      session={session}
      callouts={
        <>
          <HealthCallout health={health} fix={fix?.code === 'fix_session' ? null : fix}>
            <NextStep why={why} />
          </HealthCallout>
          {isWaiting(session) && health.status === 'OK' && !isAtRisk(session) && (
            <p class="callout tone-orange">
              <strong>Waiting</strong> {activityText(session)}
            </p>
          )}
          <RiskCallout session={session} />
          <LastError session={session} />
        </>
      }
      conditions={<ConditionsCard conditions={session.conditions} />}
      why={<WhyPanel why={why} hasNext={health.status === 'OK'} />}
    />
  )
}

interface LayoutProps {
  readonly session: LabletSession
  /** What matters now, in full. */
  readonly callouts: ComponentChildren
  readonly conditions?: ComponentChildren
  readonly why?: ComponentChildren
}

const Layout = ({ session, callouts, conditions, why }: LayoutProps) => (
  <section class="page session">
    <SessionHead session={session} />
    {callouts}
    <SlotCard session={session} />
    <div class="columns">
      <div>
        <AccessCard session={session} />
        <SavesCard session={session} />
        <PipelineCard session={session} />
        {conditions}
        <SessionHistory session={session} />
      </div>
      <div>
        <SessionFacts session={session} />
        {why}
      </div>
    </div>
    <RawJson value={session} />
  </section>
)

function nextStep(session: LabletSession, worker: Worker | null, inputs: NextInputs) {
  const { decisions, services, planOf, nowMs } = inputs
  const plan = planOf(session.status === 'PENDING' ? 'resource-scheduler' : 'lablet-controller')
  const next = nextOfSession({ session, worker, decisions, plan, services, nowMs })
  return { next, text: sessionNextText(next, { nowMs, duration: durationText }) }
}

const Reading = () => (
  <section class="loading" aria-busy="true">
    <h1 class="sr-only" tabIndex={-1}>
      Loading the session…
    </h1>
    <span class="bone title" />
    <span class="bone row" />
    <span class="bone row" />
  </section>
)

function NoSuchSession({ id }: { id: string }) {
  const isShownAll = canSeeAllSessions(useConsole().state.info.value)
  const maybe = isShownAll ? 'was removed after it ended' : 'belongs to another user'
  return (
    <NotFound title="Session not found" list="sessions">
      <p>
        Session <code>{id}</code> doesn't exist, or {maybe}.
      </p>
      <p class="muted">
        Unfinished sessions can be opened by id, or by the name of their definition if only one matches.
      </p>
    </NotFound>
  )
}

const LoadFailed = ({ id, error, onRetry }: { id: string; error: string; onRetry: () => void }) => (
  <PageState icon="offline" title="Could not load this session">
    <p>
      Session <code>{id}</code> could not be loaded: {error}.
    </p>
    <button type="button" class="button primary" onClick={onRetry}>
      Try again
    </button>
  </PageState>
)

function SessionHead({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const { definition, worker_id, lab_record_id } = session
  return (
    <header class="resource-head">
      <nav aria-label="Breadcrumb">
        <a href={pageHash('sessions')}>Sessions</a> <span aria-hidden="true">/</span>{' '}
        <span class="mono">{session.id}</span>
      </nav>
      <h1 tabIndex={-1}>
        {definition.name} <span class="muted">{definition.version}</span>
      </h1>
      <SessionActions session={session} place="page" />
      <p class="resource-line session-line">
        <SessionBadge session={session} />
        <span>
          for <Age since={session.entered_status_at} />
        </span>
        <span>
          <span class="muted">owner</span> <Owner session={session} />
        </span>
        {worker_id !== null && (
          <span>
            <span class="muted">on</span>{' '}
            <a href={workerHash(worker_id)}>{state.live.worker.get(worker_id)?.name ?? worker_id}</a>
          </span>
        )}
        {lab_record_id !== null && <a href={pageHash('labs', { q: lab_record_id })}>Lab</a>}
        <a href={definitionHash(definition.id)}>Definition</a>
      </p>
    </header>
  )
}

function LearnerCallout({ session }: { session: LabletSession }) {
  const text = learnerTextOf(session, useConsole().nowMs.value)
  if (text === null) return null
  const { status, health } = session
  return (
    <p class={`callout tone-${toneOf(shownStatus(status, health))}`} role="status">
      <strong>{text.what}</strong> {text.advice}
    </p>
  )
}

const RiskCallout = ({ session }: { session: LabletSession }) =>
  isAtRisk(session) ? (
    <p class="callout tone-orange">
      <strong>At risk</strong> <Sentence text={session.admission.at_risk?.message ?? ''} />
    </p>
  ) : null

const LastError = ({ session: { last_error } }: { session: LabletSession }) =>
  last_error === null ? null : (
    <p class="callout tone-red">
      <strong>Last error</strong> {last_error}
    </p>
  )
