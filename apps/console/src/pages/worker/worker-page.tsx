import { type Instant, toMs } from '@lcm/domain/instant'
import type { Worker } from '@lcm/domain/worker/worker'
import { Age } from '../parts/age.tsx'
import { NamedIcon } from '../parts/icons.tsx'
import { NotFound } from '../parts/page-states.tsx'
import { RawJson } from '../parts/raw-json.tsx'
import { StatusBadge, WorkerStatusBadge } from '../parts/status-badge.tsx'
import { useConsole } from '../parts/wiring.ts'
import { WorkerActions } from '../parts/worker-actions.tsx'
import { WorkerFacts } from '../parts/worker-facts.tsx'
import { dayAndTimeText, durationText, usdText } from '../wording.ts'
import { bootStages, historyOf, otherConditions, type Stage } from '../worker-view.ts'

export function WorkerPage({ id }: { id: string }) {
  const { state } = useConsole()
  const worker = state.workers.get(id)
  if (!worker) return <NoSuchWorker id={id} />
  return (
    <section class="page worker">
      <WorkerHead worker={worker} />
      <div class="worker-columns">
        <div>
          <Boot worker={worker} />
          <Conditions worker={worker} />
          <History worker={worker} />
        </div>
        <WorkerFacts worker={worker} />
      </div>
      <RawJson value={worker} />
    </section>
  )
}

const NoSuchWorker = ({ id }: { id: string }) => (
  <NotFound title="No such worker">
    <p>
      There is no worker <code>{id}</code>. Its record may have been removed.
    </p>
  </NotFound>
)

const WorkerHead = ({ worker }: { worker: Worker }) => (
  <header class="worker-head">
    <nav aria-label="Breadcrumb">
      <a href="#/workers">Workers</a> <span aria-hidden="true">/</span> <span class="mono">{worker.id}</span>
    </nav>
    <h1 tabIndex={-1}>
      {worker.name}
      {worker.protected && (
        <span class="protected">
          <NamedIcon name="lock" /> protected
        </span>
      )}
    </h1>
    <WorkerActions worker={worker} />
    <p class="worker-line">
      <WorkerStatusBadge worker={worker} />
      <span>
        for <Age since={worker.entered_status_at} />
      </span>
      <span class="number">{usdText(worker.cost_per_hour_usd)}/h</span>
      <span>{worker.aws_region}</span>
    </p>
    <p class="muted">
      Wanted {worker.desired_status} by {worker.desired_by}
      {worker.desired_reason !== '' && `: ${worker.desired_reason}`}
    </p>
  </header>
)

const Boot = ({ worker }: { worker: Worker }) => (
  <section class="card" aria-labelledby="boot-title">
    <h2 id="boot-title">Boot</h2>
    <ol class="stages">
      {bootStages(worker).map(stage => (
        <StageLine key={stage.type} stage={stage} />
      ))}
    </ol>
  </section>
)

const StageLine = ({ stage }: { stage: Stage }) => (
  <li class={`stage ${stage.state}`}>
    <span class="stage-mark" aria-hidden="true">
      {stage.state === 'passed' && <NamedIcon name="check" />}
    </span>
    <span class="stage-name">{stage.name}</span>
    <span class="stage-since">
      {stage.state === 'later' || stage.since === null ? (
        'not reached'
      ) : (
        <StageAge state={stage.state} since={stage.since} />
      )}
    </span>
    {stage.state !== 'later' && stage.message !== '' && <span class="stage-message">{stage.message}</span>}
  </li>
)

const StageAge = ({ state, since }: { state: 'passed' | 'now'; since: Instant }) =>
  state === 'passed' ? (
    <>
      passed <Age since={since} /> ago
    </>
  ) : (
    <>
      waiting for <Age since={since} />
    </>
  )

function Conditions({ worker }: { worker: Worker }) {
  const conditions = otherConditions(worker)
  if (conditions.length === 0) return null
  return (
    <section class="card" aria-labelledby="conditions-title">
      <h2 id="conditions-title">Conditions</h2>
      <ul class="conditions">
        {conditions.map(condition => (
          <li key={condition.type}>
            <strong>{condition.type}</strong> is {condition.status ? 'true' : 'false'} for{' '}
            <Age since={condition.since} />
            <span class="muted">{condition.message || condition.reason}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function History({ worker }: { worker: Worker }) {
  const { nowMs } = useConsole()
  const history = historyOf(worker)
  return (
    <section class="card" aria-labelledby="history-title">
      <h2 id="history-title">State history</h2>
      <ol class="history">
        {history.map((change, index) => {
          const next = history[index - 1]
          return (
            <li key={`${change.at} ${change.to}`}>
              <StatusBadge status={change.to} />
              <span class="number history-for">
                {durationText((next ? toMs(next.at) : nowMs.value) - toMs(change.at))}
              </span>
              <span class="history-because">{change.because}</span>
              <time class="muted number" dateTime={change.at}>
                {dayAndTimeText(toMs(change.at))}
              </time>
            </li>
          )
        })}
      </ol>
    </section>
  )
}
